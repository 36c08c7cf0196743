//! Requests that need an answer of the user before they can be completed

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{
    ErrorData,
    model::{CallToolRequestParams, CallToolResponse, ClientCapabilities},
};
use serde_json::{Value, json};

use crate::server::made;

/// What was handed out to be brought back; a state that is not among these was tampered with
#[derive(Debug, Clone, Default)]
pub(crate) struct States(Arc<Mutex<HashSet<String>>>);

impl States {
    fn hand_out(&self, round: &str) -> String {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = format!("{round}-{}", states.len());
        states.insert(state.clone());
        state
    }

    fn is_ours(&self, state: &str) -> bool {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.contains(state)
    }
}

/// Ask the user for one text
pub(crate) fn question(message: &str, field: &str) -> Value {
    form(message, &json!({field: {"type": "string"}}), &[field])
}

fn form(message: &str, properties: &Value, required: &[&str]) -> Value {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    json!({"method": "elicitation/create", "params": {
        "mode": "form", "message": message, "requestedSchema": schema
    }})
}

fn sampling(text: &str, most: u32) -> Value {
    let content = json!({"type": "text", "text": text});
    json!({"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": content}], "maxTokens": most
    }})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

/// What the user said to a question
pub(crate) fn said(answers: &BTreeMap<String, Value>, key: &str, field: &str) -> Option<String> {
    let value = answers.get(key)?.get("content")?.get(field)?;
    Some(
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned),
    )
}

fn ask(requests: &Value, state: Option<String>) -> Result<CallToolResponse, ErrorData> {
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    Ok(CallToolResponse::InputRequired(made(result)?))
}

fn done(text: &str) -> Result<CallToolResponse, ErrorData> {
    let content = json!([{"type": "text", "text": text}]);
    Ok(CallToolResponse::Complete(made(
        json!({"resultType": "complete", "content": content}),
    )?))
}

/// A call of one of the `test_input_required_result_…` tools
pub(crate) fn call(
    states: &States,
    request: &CallToolRequestParams,
    capabilities: &ClientCapabilities,
) -> Result<CallToolResponse, ErrorData> {
    let none = BTreeMap::new();
    let answers = request.input_responses.as_ref().unwrap_or(&none);
    let state = request.request_state.as_deref();
    if state.is_some_and(|state| !states.is_ours(state)) {
        let message = "the request state was changed on its way";
        return Err(ErrorData::invalid_params(message, None));
    }
    let what = request
        .name
        .trim_start_matches("test_input_required_result_");
    match what {
        "elicitation" => match said(answers, "user_name", "name") {
            Some(name) => done(&format!("Hello, {name}!")),
            None => ask(
                &json!({"user_name": question("What is your name?", "name")}),
                None,
            ),
        },
        "sampling" => {
            if let Some(answer) = answers.get("capital_question") {
                return done(&format!("The model says: {}", answer["content"]["text"]));
            }
            let asked = sampling("What is the capital of France?", 100);
            ask(&json!({"capital_question": asked}), None)
        }
        "list_roots" => match answers.get("client_roots") {
            Some(answer) => done(&format!("The roots are {}", answer["roots"])),
            None => ask(&json!({"client_roots": roots()}), None),
        },
        "request_state" | "tampered_state" => {
            if state.is_some() && said(answers, "confirm", "ok").is_some() {
                return done("state-ok");
            }
            let properties = json!({"ok": {"type": "boolean"}});
            let asked = form("Please confirm", &properties, &["ok"]);
            ask(&json!({"confirm": asked}), Some(states.hand_out("confirm")))
        }
        "multiple_inputs" => {
            let keys = ["user_name", "greeting", "client_roots"];
            if state.is_some() && keys.iter().all(|key| answers.contains_key(*key)) {
                return done("All three are there.");
            }
            let asked = json!({
                "user_name": question("What is your name?", "name"),
                "greeting": sampling("Generate a greeting", 50),
                "client_roots": roots(),
            });
            ask(&asked, Some(states.hand_out("several")))
        }
        "multi_round" => match (answers.contains_key("step2"), answers.contains_key("step1")) {
            (true, _) => done("Both steps are done."),
            (_, true) => {
                let asked = question("Step 2: What is your favorite color?", "color");
                ask(&json!({"step2": asked}), Some(states.hand_out("second")))
            }
            _ => {
                let asked = question("Step 1: What is your name?", "name");
                ask(&json!({"step1": asked}), Some(states.hand_out("first")))
            }
        },
        "capabilities" => {
            let mut asked = json!({});
            if capabilities.elicitation.is_some() {
                asked["user_name"] = question("What is your name?", "name");
            }
            if capabilities.sampling.is_some() {
                asked["greeting"] = sampling("Generate a greeting", 50);
            }
            ask(&asked, None)
        }
        _ => Err(ErrorData::invalid_params("there is no such tool", None)),
    }
}
