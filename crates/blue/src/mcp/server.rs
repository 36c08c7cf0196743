//! What a client sees: the tools, and nothing else

use std::{borrow::Cow, fmt, sync::Arc};

use blue_tools::{Cx, ToolError};
use http::request::Parts;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
        CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, DiscoverResult,
        ErrorCode, Implementation, InitializeRequestParams, InitializeResult,
        InitializeResultMethod, ListPromptsRequestMethod, ListPromptsResult,
        ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
        ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, MetaObject,
        PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Toolbox, call};

/// How long a client may keep what it was told; it only changes with another start
const FRESH_MS: u64 = 300_000;
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Who calls, and so what a tool works with; there are no parts of a request on stdio
pub(crate) type Caller = Arc<dyn Fn(Option<&Parts>) -> Result<Cx, ToolError> + Send + Sync>;

/// The tools for MCP clients of every era
#[derive(Clone)]
pub(crate) struct Server {
    tools: Arc<Toolbox>,
    caller: Caller,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

impl Server {
    pub(crate) fn new(tools: Toolbox, caller: Caller) -> Self {
        Self {
            tools: Arc::new(tools),
            caller,
        }
    }

    fn about() -> Implementation {
        Implementation::new("blue", env!("CARGO_PKG_VERSION")).with_title("Blue")
    }

    /// Newer clients are told with every result who answers
    fn meta(context: &RequestContext<RoleServer>) -> Option<MetaObject> {
        context.meta.protocol_version()?;
        let about = serde_json::to_value(Self::about()).ok()?;
        let mut meta = MetaObject::new();
        meta.insert(SERVER_INFO.to_owned(), about);
        Some(meta)
    }
}

/// What is wrong with parameters, in one line
fn unreadable<T: DeserializeOwned>(params: Value) -> String {
    let params = if params.is_null() { json!({}) } else { params };
    match serde_json::from_value::<T>(params) {
        Err(error) => blue_base::text::clean_line(&error.to_string()),
        Ok(_) => "one of them has a wrong type".to_owned(),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Self::about())
            .with_instructions(self.tools.instructions())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(blue_mcp::VERSIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if context.meta.protocol_version().is_some() {
            return Err(ErrorData::method_not_found::<InitializeResultMethod>());
        }
        let result = self.negotiate_initialize(&request)?;
        // What was agreed on, not what was asked for: some clients ask for a revision that has no
        // `initialize` any more.
        let mut peer = request;
        peer.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(peer);
        Ok(result)
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        result.ttl_ms = FRESH_MS;
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|params| params.cursor);
        if let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) {
            let cursor = blue_base::text::clean_line(&cursor);
            let message = format!("there is one page only, so no cursor `{cursor}`");
            return Err(ErrorData::invalid_params(message, None));
        }
        let mut result = ListToolsResult::with_all_items(self.tools.described().to_vec());
        result.meta = Self::meta(&context);
        if context.meta.protocol_version().is_some() {
            result.ttl_ms = Some(FRESH_MS);
            result.cache_scope = Some(CacheScope::Private);
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let unknown = |message| ErrorData::invalid_params(message, None);
        let tool = self.tools.find(&request.name).map_err(unknown)?;
        let cx = (self.caller)(context.extensions.get::<Parts>());
        let args = request.arguments.unwrap_or_default();
        let mut result = call::run(tool, cx, args, &context).await?;
        result.meta = Self::meta(&context);
        Ok(result.into())
    }

    /// What cannot be read as the request it says to be ends up here too
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let (method, params) = (request.method, request.params.unwrap_or_default());
        let why = match method.as_str() {
            "tools/call" => Some(unreadable::<CallToolRequestParams>(params)),
            "tools/list" => Some(unreadable::<PaginatedRequestParams>(params)),
            // Requests that carry their version begin nothing.
            "initialize" if context.meta.protocol_version().is_none() => {
                Some(unreadable::<InitializeRequestParams>(params))
            }
            _ => None,
        };
        if let Some(why) = why {
            let message = format!("the parameters of `{method}` cannot be read: {why}");
            return Err(ErrorData::invalid_params(message, None));
        }
        // Long enough for every method that there is.
        let shown: String = method.chars().take(100).collect();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, shown, None))
    }

    // Not offered, so not there: an empty list would say that they are.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}
