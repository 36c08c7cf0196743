//! Is this request, is this answer, one that the description knows?

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::{Description, Operation, Place};

/// A request as it went over the wire
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// After the API's base, still encoded
    pub path: String,
    pub query: Option<String>,
    /// Of a JSON body
    pub body: Option<Value>,
}

/// What came back
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    /// `None` for an empty body or one that is not JSON
    pub body: Option<Value>,
}

impl Description {
    /// What is wrong with a request, in words; empty when nothing is
    pub fn request_faults(&self, request: &Request) -> Vec<String> {
        let Some((operation, values)) = self.find(&request.method, &request.path) else {
            return vec![format!(
                "no such operation: {} {}",
                request.method, request.path
            )];
        };
        let mut faults = Vec::new();
        for (name, value) in &values {
            self.parameter_faults(operation, Place::Path, name, value, &mut faults);
        }
        let query = query_pairs(request.query.as_deref().unwrap_or_default());
        for (name, value) in &query {
            self.parameter_faults(operation, Place::Query, name, value, &mut faults);
        }
        for wanted in &operation.parameters {
            let missing = wanted.place == Place::Query
                && wanted.required
                && !query.iter().any(|(name, _)| *name == wanted.name);
            if missing {
                faults.push(format!("query parameter `{}` is missing", wanted.name));
            }
        }
        match (&operation.body, &request.body) {
            (Some(wanted), Some(body)) => {
                faults.extend(self.schema_faults(&wanted.schema, body));
                faults.extend(self.unknown_fields(&wanted.schema, body, "body"));
            }
            (Some(wanted), None) if wanted.required => faults.push("the body is missing".into()),
            (None, Some(_)) => faults.push("the operation takes no body".into()),
            _ => {}
        }
        prefixed(operation, &request.method, &request.path, faults)
    }

    /// What is wrong with an answer to a request, in words
    ///
    /// A refusal that the description does not list for the operation must still look like one.
    pub fn answer_faults(&self, request: &Request, answer: &Answer) -> Vec<String> {
        let Some((operation, _)) = self.find(&request.method, &request.path) else {
            return vec![format!(
                "no such operation: {} {}",
                request.method, request.path
            )];
        };
        let status = answer.status.to_string();
        let listed = operation.responses.get(&status);
        let basic = json!({"$ref": "#/$defs/basic-error"});
        let schema = match listed {
            Some(response) => response.schema.as_ref(),
            None if answer.status >= 400 => Some(&basic),
            None if matches!(answer.status, 301 | 302 | 304 | 307) => None,
            None => {
                return vec![format!(
                    "{}: answered {status}, which is not listed",
                    operation.id
                )];
            }
        };
        let mut faults = match (schema, &answer.body) {
            (Some(schema), Some(body)) => {
                let mut faults = self.schema_faults(schema, body);
                // Refusals carry a `status` that not every schema of theirs names.
                if answer.status < 400 {
                    faults.extend(self.unknown_fields(schema, body, "answer"));
                }
                faults
            }
            (Some(_), None) if answer.status >= 400 && request.method != "HEAD" => {
                vec!["a refusal without a body".into()]
            }
            _ => Vec::new(),
        };
        for fault in &mut faults {
            fault.insert_str(0, &format!("{status}: "));
        }
        prefixed(operation, &request.method, &request.path, faults)
    }

    fn parameter_faults(
        &self,
        operation: &Operation,
        place: Place,
        name: &str,
        value: &str,
        faults: &mut Vec<String>,
    ) {
        let known = operation
            .parameters
            .iter()
            .find(|p| p.place == place && p.name == name);
        let Some(known) = known else {
            faults.push(format!("parameter `{name}` is not known"));
            return;
        };
        // On the wire everything is text: the schema says what the text is to be read as.
        let readings = [
            Some(Value::from(value)),
            value.parse::<i64>().ok().map(Value::from),
            value.parse::<bool>().ok().map(Value::from),
        ];
        let fits = readings
            .into_iter()
            .flatten()
            .any(|reading| self.schema_faults(&known.schema, &reading).is_empty());
        if !fits {
            faults.push(format!("parameter `{name}` cannot be `{value}`"));
        }
    }

    fn schema_faults(&self, schema: &Value, value: &Value) -> Vec<String> {
        static COMPILED: LazyLock<Mutex<HashMap<String, &'static Validator>>> =
            LazyLock::new(Mutex::default);
        let validator = {
            let mut compiled = COMPILED.lock().expect("no test panics while compiling");
            compiled
                .entry(schema.to_string())
                .or_insert_with(|| Box::leak(Box::new(self.compile(schema))))
                as &Validator
        };
        validator
            .iter_errors(value)
            .take(8)
            .map(|e| {
                let shown: String = e.to_string().chars().take(300).collect();
                format!("at `{}`: {shown}", e.instance_path())
            })
            .collect()
    }

    fn compile(&self, schema: &Value) -> Validator {
        let whole = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$defs": self.defs,
            "allOf": [schema],
        });
        jsonschema::options()
            .should_validate_formats(true)
            .build(&whole)
            .expect("the extractor writes valid schemas")
    }

    /// Names that no branch of the schema has: a typing error, or another forge's field
    fn unknown_fields(&self, schema: &Value, value: &Value, at: &str) -> Vec<String> {
        let mut schemas = Vec::new();
        self.alternatives(schema, &mut schemas);
        let mut faults = Vec::new();
        match value {
            Value::Object(fields) => {
                let open = schemas.iter().any(|s| {
                    s.get("properties").is_none() && is_type(s, "object")
                        || s.get("additionalProperties")
                            .is_some_and(|a| *a != json!(false))
                });
                for (name, inner) in fields {
                    let of: Vec<&Value> = schemas
                        .iter()
                        .filter_map(|s| s.get("properties")?.get(name))
                        .collect();
                    if of.is_empty() {
                        if !open {
                            faults.push(format!("{at} has the unknown field `{name}`"));
                        }
                        continue;
                    }
                    let any = json!({"anyOf": of});
                    faults.extend(self.unknown_fields(&any, inner, &format!("{at}.{name}")));
                }
            }
            Value::Array(rows) => {
                let of: Vec<&Value> = schemas.iter().filter_map(|s| s.get("items")).collect();
                if let (Some(row), false) = (rows.first(), of.is_empty()) {
                    let any = json!({"anyOf": of});
                    faults.extend(self.unknown_fields(&any, row, &format!("{at}[0]")));
                }
            }
            _ => {}
        }
        faults
    }

    fn alternatives<'a>(&'a self, schema: &'a Value, into: &mut Vec<&'a Value>) {
        if let Some(name) = schema["$ref"]
            .as_str()
            .and_then(|r| r.strip_prefix("#/$defs/"))
        {
            self.alternatives(&self.defs[name], into);
            return;
        }
        for key in ["allOf", "anyOf"] {
            for inner in schema[key].as_array().into_iter().flatten() {
                self.alternatives(inner, into);
            }
        }
        into.push(schema);
    }
}

fn is_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::String(one) => one == name,
        Value::Array(many) => many.iter().any(|t| t == name),
        _ => false,
    }
}

fn query_pairs(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| {
        percent_encoding::percent_decode_str(&text.replace('+', " "))
            .decode_utf8_lossy()
            .into_owned()
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        })
        .collect()
}

fn prefixed(operation: &Operation, method: &str, path: &str, faults: Vec<String>) -> Vec<String> {
    faults
        .into_iter()
        .map(|fault| format!("{} ({method} {path}): {fault}", operation.id))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, path: &str, query: &str, body: Option<Value>) -> Vec<String> {
        Description::github().request_faults(&Request {
            method: method.into(),
            path: path.into(),
            query: (!query.is_empty()).then(|| query.to_owned()),
            body,
        })
    }

    fn answer(method: &str, path: &str, status: u16, body: Value) -> Vec<String> {
        let request = Request {
            method: method.into(),
            path: path.into(),
            query: None,
            body: None,
        };
        let body = (!body.is_null()).then_some(body);
        Description::github().answer_faults(&request, &Answer { status, body })
    }

    #[test]
    fn good_requests_pass_and_bad_ones_do_not() {
        let pulls = "/repos/a/b/pulls";
        assert_eq!(
            request("GET", pulls, "state=all&per_page=100", None),
            [""; 0]
        );
        assert_eq!(request("GET", pulls, "state=some", None).len(), 1);
        assert_eq!(request("GET", pulls, "limit=50", None).len(), 1);
        let good = json!({"title": "t", "head": "x", "base": "main", "draft": true});
        assert_eq!(request("POST", pulls, "", Some(good)), [""; 0]);
        assert_eq!(
            request("POST", pulls, "", Some(json!({"head": "x"}))).len(),
            1
        );
        assert_eq!(request("POST", pulls, "", None).len(), 1);
        let unknown = json!({"head": "x", "base": "main", "title": "t", "Do": "merge"});
        assert_eq!(request("POST", pulls, "", Some(unknown)).len(), 1);
        assert_eq!(request("GET", "/repos/a/b/pulls/x", "", None).len(), 1);
        assert_eq!(request("GET", "/nowhere", "", None).len(), 1);
    }

    #[test]
    fn answers_are_held_to_the_schema() {
        let merge = "/repos/a/b/pulls/7/merge";
        let merged = json!({"sha": "a".repeat(40), "merged": true, "message": "Pull Request successfully merged"});
        assert_eq!(answer("PUT", merge, 200, merged.clone()), [""; 0]);
        assert_eq!(answer("PUT", merge, 200, json!({"merged": true})).len(), 2);
        assert_eq!(answer("PUT", merge, 201, merged.clone()).len(), 1);
        let mut odd = merged;
        odd["Do"] = json!("merge");
        assert_eq!(answer("PUT", merge, 200, odd).len(), 1);
        assert_eq!(answer("GET", merge, 204, Value::Null), [""; 0]);
        let refusal = json!({"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest", "status": "401"});
        assert_eq!(answer("GET", merge, 401, refusal), [""; 0]);
        assert_eq!(answer("GET", merge, 401, Value::Null).len(), 1);
    }

    /// The judge must agree with the description's own examples, or it judges nothing
    #[test]
    fn examples_pass() {
        let description = Description::github();
        let mut checked = 0;
        let mut odd = Vec::new();
        for operation in &description.operations {
            for (status, response) in &operation.responses {
                let Some(schema) = &response.schema else {
                    continue;
                };
                for example in &response.examples {
                    checked += 1;
                    // Some examples are older than their schema and lack a field; that is all.
                    let faults = description.schema_faults(schema, example);
                    odd.extend(
                        faults
                            .iter()
                            .filter(|f| !f.ends_with("is a required property"))
                            .map(|f| format!("{} {status}: {f}", operation.id)),
                    );
                }
            }
        }
        assert!(checked > 60, "{checked} examples");
        // Numbers for fingerprints, and an app's owner of neither listed kind.
        odd.retain(|f| !f.contains("/ssh_key_fingerprints/") && !f.contains("/apps/0/owner`"));
        assert_eq!(odd, [""; 0]);
    }
}
