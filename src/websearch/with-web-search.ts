/** The `run` of a surface whose callers may send a hosted web search tool. The searches are loaded for such requests only. */
import { isRecord } from "../core/json.ts";
import type { InferenceRequest, Reply } from "../pipeline/request.ts";
import { run } from "../pipeline/run.ts";
import { chatTool } from "./hosted/chat-tool.ts";
import { geminiTool } from "./hosted/gemini-tool.ts";
import { messagesTool } from "./hosted/messages-tool.ts";
import { responsesTool } from "./hosted/responses-tool.ts";
import type { SearchServices } from "./services.ts";

const FORMATS = { chat: chatTool, gemini: geminiTool, messages: messagesTool, responses: responsesTool };

export const withWebSearch = (name: keyof typeof FORMATS) => {
	const format = FORMATS[name];
	return (request: InferenceRequest, services: SearchServices): Promise<Reply> => {
		const { fields } = request.inputs;
		if (!isRecord(fields) || !format.concerns(fields)) return run(request, services);
		return import("./hosted/run-with-search.ts").then(({ runHosted }) =>
			runHosted(request, format, services),
		);
	};
};
