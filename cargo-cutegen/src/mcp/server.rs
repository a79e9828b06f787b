//! The protocol: a [`Session`]'s tools on standard input and output, by the official crate. Knows no tool's insides. Nothing
//! else writes to standard output while it serves.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::transport::stdio;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};

use super::session::{Answer, Session};
use super::tools::{self, Effect};

const INSTRUCTIONS: &str = "CuTeGen tests and times kernels that you write against the math of their specs. Begin with \
                            `kernels`, then `task`; write a source, `propose` it, read its `verdict`, and improve it. Only a \
                            person accepts a kernel into the package.";

/// Threads of the pool that waits for verdicts.
const WAITING_MOST: usize = 16;

struct Server(Arc<Session>);

/// Serves until standard input ends.
pub(super) fn serve(session: Session) -> Result<(), String> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().max_blocking_threads(WAITING_MOST).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let served = runtime.block_on(async {
        let service = Server(Arc::new(session)).serve(stdio()).await.map_err(|error| error.to_string())?;
        service.waiting().await.map(drop).map_err(|error| error.to_string())
    });
    // a tool that waits for a verdict has no client any more
    runtime.shutdown_background();
    served
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("cutegen", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all().iter().map(listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (session, name) = (Arc::clone(&self.0), request.name.clone());
        let client = context.client_info().map(|client| client.name);
        let arguments = request.arguments.unwrap_or_default();
        let call = move || session.call(&request.name, arguments, client.as_deref());
        match tokio::task::spawn_blocking(call).await {
            Ok(Some(answer)) => Ok(result(answer).into()),
            Ok(None) => Err(ErrorData::invalid_params(format!("there is no tool `{name}`"), None)),
            Err(error) => {
                Ok(result(Err(format!("`{name}` broke down: {error}\nnext: call it again"))).into())
            }
        }
    }
}

fn listed(tool: &tools::Tool) -> Tool {
    let annotations = match tool.effect {
        Effect::Reads => ToolAnnotations::new().read_only(true),
        Effect::Adds => ToolAnnotations::new().read_only(false).destructive(false),
    };
    Tool::new(tool.name, tool.description, Arc::new(tool.schema())).annotate(annotations.open_world(false))
}

fn result(answer: Answer) -> CallToolResult {
    match answer {
        Ok(texts) => CallToolResult::success(texts.into_iter().map(ContentBlock::text).collect()),
        Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]),
    }
}
