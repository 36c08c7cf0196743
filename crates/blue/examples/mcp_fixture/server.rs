//! Prompts, resources and the lists, as the suite describes them

use std::borrow::Cow;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
        GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
        SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::{input::States, tools};

/// A red pixel
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// Which list is said to have changed
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Changed {
    Tools,
    Prompts,
}

#[derive(Debug, Clone)]
pub(crate) struct Fixture {
    pub(crate) states: States,
    pub(crate) changes: broadcast::Sender<Changed>,
}

impl Default for Fixture {
    fn default() -> Self {
        Self {
            states: States::default(),
            changes: broadcast::Sender::new(16),
        }
    }
}

type Answer<T> = Result<T, ErrorData>;

/// The suite speaks JSON, so the answers are written in it
pub(crate) fn made<T: DeserializeOwned>(value: Value) -> Answer<T> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn missing(what: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("no such {what}: {name}"), None)
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "tools": {"listChanged": true},
            "prompts": {"listChanged": true},
            "resources": {"subscribe": true, "listChanged": true},
            "completions": {},
            "logging": {},
        });
        let capabilities = serde_json::from_value(capabilities).expect("capabilities are known");
        ServerConfig::new(capabilities).with_server_info(Implementation::new("mcp-fixture", "1"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(blue_mcp::VERSIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListToolsResult> {
        made(
            json!({"resultType": "complete", "tools": tools::list(), "ttlMs": 1000, "cacheScope": "public"}),
        )
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Answer<CallToolResponse> {
        tools::call(self, request, &context).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool = tools::list()
            .into_iter()
            .find(|tool| tool["name"] == name)?;
        serde_json::from_value(tool).ok()
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListPromptsResult> {
        let argument = |name: &str| json!({"name": name, "description": name, "required": true});
        let prompt = |name: &str, arguments: Value| json!({"name": name, "description": name, "arguments": arguments});
        made(
            json!({"resultType": "complete", "ttlMs": 1000, "cacheScope": "public", "prompts": [
                prompt("test_simple_prompt", json!([])),
                prompt("test_prompt_with_arguments", json!([argument("arg1"), argument("arg2")])),
                prompt("test_prompt_with_embedded_resource", json!([argument("resourceUri")])),
                prompt("test_prompt_with_image", json!([])),
                prompt("test_input_required_result_prompt", json!([])),
            ]}),
        )
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<GetPromptResponse> {
        let given = request.arguments.unwrap_or_default();
        let given = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
        let text = |text: &str| json!({"type": "text", "text": text});
        let contents = match request.name.as_str() {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => vec![text(&format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                given("arg1"),
                given("arg2")
            ))],
            "test_prompt_with_embedded_resource" => vec![
                json!({"type": "resource", "resource": {
                    "uri": given("resourceUri"), "mimeType": "text/plain",
                    "text": "Embedded resource content for testing."
                }}),
                text("Please process the embedded resource above."),
            ],
            "test_prompt_with_image" => vec![
                json!({"type": "image", "data": PIXEL, "mimeType": "image/png"}),
                text("Please analyze the image above."),
            ],
            "test_input_required_result_prompt" => {
                let answers = request.input_responses.unwrap_or_default();
                let Some(context) = crate::input::said(&answers, "user_context", "context") else {
                    let asked =
                        crate::input::question("What context should the prompt use?", "context");
                    let asked = json!({"resultType": "input_required", "inputRequests": {"user_context": asked}});
                    return Ok(GetPromptResponse::InputRequired(made(asked)?));
                };
                vec![text(&format!("In the context of {context}."))]
            }
            other => return Err(missing("prompt", other)),
        };
        let messages: Vec<Value> = contents
            .into_iter()
            .map(|content| json!({"role": "user", "content": content}))
            .collect();
        Ok(GetPromptResponse::Complete(made(
            json!({"messages": messages, "resultType": "complete"}),
        )?))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListResourcesResult> {
        let resource = |uri: &str, kind: &str| json!({"uri": uri, "name": uri, "description": uri, "mimeType": kind});
        made(
            json!({"resultType": "complete", "ttlMs": 1000, "cacheScope": "public", "resources": [
                resource("test://static-text", "text/plain"),
                resource("test://static-binary", "image/png"),
                resource("test://watched-resource", "text/plain"),
            ]}),
        )
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Answer<ListResourceTemplatesResult> {
        made(
            json!({"resultType": "complete", "ttlMs": 1000, "cacheScope": "public", "resourceTemplates": [{
                "uriTemplate": "test://template/{id}/data", "name": "template", "description": "by id",
                "mimeType": "application/json"
            }]}),
        )
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<ReadResourceResponse> {
        let uri = request.uri.as_str();
        let id = uri
            .strip_prefix("test://template/")
            .and_then(|rest| rest.strip_suffix("/data"));
        let contents = match (uri, id) {
            ("test://static-text", _) => json!({
                "uri": uri, "mimeType": "text/plain",
                "text": "This is the content of the static text resource."
            }),
            ("test://static-binary", _) => {
                json!({"uri": uri, "mimeType": "image/png", "blob": PIXEL})
            }
            ("test://watched-resource", _) => {
                json!({"uri": uri, "mimeType": "text/plain", "text": "watched"})
            }
            (_, Some(id)) => {
                let data =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
            }
            _ => {
                let data = json!({"uri": uri});
                return Err(ErrorData::resource_not_found(
                    "there is no such resource",
                    Some(data),
                ));
            }
        };
        let result = json!({"contents": [contents], "ttlMs": 1000, "cacheScope": "public", "resultType": "complete"});
        Ok(ReadResourceResponse::Complete(made(result)?))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<CompleteResult> {
        made(
            json!({"resultType": "complete", "completion": {"values": ["paris", "park"], "total": 2, "hasMore": false}}),
        )
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<()> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<()> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Answer<()> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Answer<()> {
        let mut news = self.changes.subscribe();
        loop {
            let changed = tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = news.recv() => changed,
            };
            let sink = context.sink();
            // What was not asked for is refused by the sink.
            let _ = match changed {
                Ok(Changed::Tools) => sink.notify_tool_list_changed().await,
                Ok(Changed::Prompts) => sink.notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            };
        }
    }
}
