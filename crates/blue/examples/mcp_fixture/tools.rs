//! The suite's tools

use std::time::Duration;

use rmcp::{
    ErrorData, Peer, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientResult, LoggingLevel,
        LoggingMessageNotificationParam, ProgressNotificationParam, ServerRequest,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

use crate::{
    input,
    server::{Changed, Fixture, PIXEL, made},
};

/// A WAV file without a sample
const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
/// Between two reports of a call
const PAUSE: Duration = Duration::from_millis(50);

const PLAIN: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_error_handling",
    "test_tool_with_progress",
    "test_streaming_elicitation",
    "test_missing_capability",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
];

pub(crate) fn list() -> Vec<Value> {
    let mut tools: Vec<Value> = PLAIN.iter().map(|name| tool(name, None)).collect();
    tools.push(tool("test_sampling", Some("prompt")));
    tools.push(tool("test_elicitation", Some("message")));
    let mut header = tool("test_header", Some("region"));
    header["inputSchema"]["properties"]["region"]["x-mcp-header"] = json!("Region");
    tools.push(header);
    tools
}

fn tool(name: &str, argument: Option<&str>) -> Value {
    let schema = match argument {
        None => json!({"type": "object", "properties": {}}),
        Some(argument) => json!({
            "type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]
        }),
    };
    json!({"name": name, "description": format!("What the suite knows as {name}"), "inputSchema": schema})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image() -> Value {
    json!({"type": "image", "data": PIXEL, "mimeType": "image/png"})
}

fn resource(uri: &str, kind: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}})
}

pub(crate) async fn call(
    fixture: &Fixture,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let capabilities = context.client_capabilities().unwrap_or_default();
    if request.name.starts_with("test_input_required_result_") {
        return input::call(&fixture.states, &request, &capabilities);
    }
    let mut failed = false;
    let blocks = match request.name.as_ref() {
        "test_simple_text" => vec![text("This is a simple text response for testing.")],
        "test_image_content" => vec![image()],
        "test_audio_content" => {
            vec![json!({"type": "audio", "data": SILENCE, "mimeType": "audio/wav"})]
        }
        "test_embedded_resource" => vec![resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )],
        "test_multiple_content_types" => vec![
            text("Multiple content types test:"),
            image(),
            resource(
                "test://mixed-content-resource",
                "application/json",
                "{\"test\":\"data\",\"value\":123}",
            ),
        ],
        "test_error_handling" => {
            failed = true;
            vec![text("This tool intentionally returns an error for testing")]
        }
        "test_tool_with_logging" | "test_logging_tool" => {
            log(context).await;
            vec![text("Three things were logged, if that was wanted.")]
        }
        "test_tool_with_progress" | "test_streaming_elicitation" => {
            progress(context).await;
            vec![text("All of the way was reported.")]
        }
        "test_missing_capability" => {
            if capabilities.sampling.is_none() {
                let needed: ClientCapabilities = made(json!({"sampling": {}}))?;
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            vec![text("Sampling could be used.")]
        }
        "test_header" => vec![text("Header and argument are the same.")],
        "test_trigger_tool_change" => changed(fixture, Changed::Tools),
        "test_trigger_prompt_change" => changed(fixture, Changed::Prompts),
        "test_sampling"
        | "test_elicitation"
        | "test_elicitation_sep1034_defaults"
        | "test_elicitation_sep1330_enums" => {
            vec![text(&back(&request, &context.peer).await?)]
        }
        other => {
            return Err(ErrorData::invalid_params(
                format!("no tool `{other}`"),
                None,
            ));
        }
    };
    let mut result = json!({"resultType": "complete", "content": blocks});
    if failed {
        result["isError"] = json!(true);
    }
    Ok(CallToolResponse::Complete(made(result)?))
}

/// A call that asks the client something before it ends, as the older revisions do
async fn back(
    request: &CallToolRequestParams,
    peer: &Peer<RoleServer>,
) -> Result<String, ErrorData> {
    let given = |name: &str| {
        let arguments = request.arguments.as_ref()?;
        Some(arguments.get(name)?.as_str()?.to_owned())
    };
    Ok(match request.name.as_ref() {
        "test_sampling" => {
            let asked = text(&given("prompt").unwrap_or_default());
            let params =
                json!({"messages": [{"role": "user", "content": asked}], "maxTokens": 100});
            let asked = ServerRequest::CreateMessageRequest(made(
                json!({"method": "sampling/createMessage", "params": params}),
            )?);
            let said = asked_back(peer, asked).await?;
            format!(
                "LLM response: {}",
                said["content"]["text"].as_str().unwrap_or_default()
            )
        }
        "test_elicitation" => {
            let message = given("message").unwrap_or_default();
            let properties = json!({
                "username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"},
            });
            let required = json!(["username", "email"]);
            let said = elicit(peer, &message, properties, required).await?;
            format!("User response: {said}")
        }
        "test_elicitation_sep1034_defaults" => {
            let properties = json!({
                "name": {"type": "string", "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                "verified": {"type": "boolean", "default": true},
            });
            let said = elicit(peer, "Look at the defaults", properties, json!([])).await?;
            format!("Elicitation completed: {said}")
        }
        "test_elicitation_sep1330_enums" => {
            let titled = |word: &str| {
                json!([
                    {"const": "value1", "title": format!("First {word}")},
                    {"const": "value2", "title": format!("Second {word}")},
                    {"const": "value3", "title": format!("Third {word}")},
                ])
            };
            let options = json!(["option1", "option2", "option3"]);
            let properties = json!({
                "untitledSingle": {"type": "string", "enum": options},
                "titledSingle": {"type": "string", "oneOf": titled("Option")},
                "legacyEnum": {
                    "type": "string", "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"]
                },
                "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
                "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
            });
            let said = elicit(peer, "Choose", properties, json!([])).await?;
            format!("Elicitation completed: {said}")
        }
        other => unreachable!("{other} asks nothing"),
    })
}

fn changed(fixture: &Fixture, what: Changed) -> Vec<Value> {
    let listeners = fixture.changes.send(what).unwrap_or(0);
    vec![text(&format!("{listeners} were told."))]
}

async fn log(context: &RequestContext<RoleServer>) {
    // Newer clients ask for it with each request; older ones once, and get it unasked.
    let wanted = context.meta.protocol_version().is_none() || context.meta.log_level().is_some();
    for said in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        if wanted {
            let param = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(said));
            let _ = context.peer.notify_logging_message(param).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn progress(context: &RequestContext<RoleServer>) {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let mut param = ProgressNotificationParam::new(token, done);
            param.total = Some(100.0);
            let _ = context.peer.notify_progress(param).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Ask the client, as the older revisions do
async fn asked_back(peer: &Peer<RoleServer>, request: ServerRequest) -> Result<Value, ErrorData> {
    let failed = |error: String| ErrorData::internal_error(error, None);
    let result = peer
        .send_request(request)
        .await
        .map_err(|error| failed(error.to_string()))?;
    match result {
        ClientResult::EmptyResult(_) => Ok(json!({})),
        other => serde_json::to_value(other).map_err(|error| failed(error.to_string())),
    }
}

async fn elicit(
    peer: &Peer<RoleServer>,
    message: &str,
    properties: Value,
    required: Value,
) -> Result<String, ErrorData> {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    let request = made(json!({"method": "elicitation/create", "params": params}))?;
    let said = asked_back(peer, ServerRequest::ElicitRequest(request)).await?;
    let action = said["action"].as_str().unwrap_or_default();
    Ok(format!("action={action}, content={}", said["content"]))
}
