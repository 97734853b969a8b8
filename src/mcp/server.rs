//! The MCP server on standard input and output. It knows no editor.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::stdio;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use tokio::sync::Semaphore;

use super::arguments::Options;
use super::ask::Asker;
use super::lines;
use super::tools::{TOOLS, Tool};

/// So many questions are on their way to the editor at once.
const MAX_ASKED: usize = 16;

const INSTRUCTIONS: &str = "What the user's running Emacs knows about the code, unsaved text included. \
Lines count from 1. Prefer these tools to searching text for definitions, references, outlines and \
errors; where one is unavailable, it says why and what to do.";

#[derive(Clone)]
struct Server {
    asker: Arc<Asker>,
    places: Arc<Semaphore>,
}

/// Serves until the client closes its end.
pub(crate) fn serve(options: Options) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let server = Server {
        asker: Arc::new(Asker::new(options)),
        places: Arc::new(Semaphore::new(MAX_ASKED)),
    };
    let ended = runtime.block_on(async {
        let (input, output) = stdio();
        let running = server
            .serve((lines::mended(input), output))
            .await
            .map_err(|error| error.to_string())?;
        running.waiting().await.map_err(|error| error.to_string())
    });
    // A thread may be reading what never comes.
    runtime.shutdown_background();
    ended.map(|_| ())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("eca-context", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.map(Tool::declared).into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::named(&request.name) else {
            let message = format!("there is no tool {}", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let answer = async {
            let _place = self.places.acquire().await;
            self.asker.answer(tool, request.arguments.unwrap_or_default()).await
        };
        let said = tokio::select! {
            said = answer => said,
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("cancelled", None));
            }
        };
        let content = vec![ContentBlock::text(said.text)];
        let mut result = CallToolResult::success(content);
        result.structured_content = Some(said.structured);
        result.is_error = Some(said.failed);
        Ok(result.into())
    }
}
