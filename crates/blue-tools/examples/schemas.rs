//! Print each tool as a client is told of it, with its size
#![expect(clippy::print_stdout, reason = "that is what it is for")]

use blue_tools::tools::ALL;
use serde_json::json;

fn main() {
    let mut sum = 0;
    for tool in ALL {
        let seen = json!({
            "name": tool.name(),
            "description": tool.description(),
            "inputSchema": tool.input_schema(),
        });
        let size = seen.to_string().len();
        sum += size;
        println!("{size:5}  {seen}");
        println!("       {}", json!(tool.output_schema()));
    }
    println!("{sum:5}  bytes for {} tools", ALL.len());
}
