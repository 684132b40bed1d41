/** The `run` of a surface whose callers may send a hosted web search tool. The searches are loaded for such requests only. */
import { isRecord } from "../core/json.ts";
import type { Dialect } from "../dialects/dialect.ts";
import type { InferenceRequest, Reply } from "../pipeline/request.ts";
import { run } from "../pipeline/run.ts";
import { chatTool } from "./hosted/chat-tool.ts";
import { geminiTool } from "./hosted/gemini-tool.ts";
import type { HostedFormat } from "./hosted/hosted-request.ts";
import { messagesTool } from "./hosted/messages-tool.ts";
import { responsesTool } from "./hosted/responses-tool.ts";
import type { SearchServices } from "./services.ts";

/** The formats with a hosted search tool. */
const FORMATS = { chat: chatTool, gemini: geminiTool, messages: messagesTool, responses: responsesTool };

export type SearchFormat = keyof typeof FORMATS;

const concerns = (format: HostedFormat, fields: Record<string, unknown>): boolean =>
	(format.field === undefined || fields[format.field] !== undefined) && format.concerns(fields);

export const withWebSearch = (name: SearchFormat) => {
	const format = FORMATS[name];
	return (request: InferenceRequest, services: SearchServices): Promise<Reply> => {
		const { fields } = request.inputs;
		if (!isRecord(fields) || !concerns(format, fields)) return run(request, services);
		return import("./hosted/run-with-search.ts").then(({ runHosted }) =>
			runHosted(request, format, services),
		);
	};
};

/** A request whose tokens are counted. */
export interface CountedChat {
	fields: unknown;
	dialect: Dialect;
}

/** The request as its model receives it: with the function in place of the tool, and with the results of its searches as texts. */
export async function withSearchTexts(
	chat: CountedChat,
	{ name, account }: { name: SearchFormat; account: string },
	services: SearchServices,
): Promise<CountedChat> {
	const { fields, dialect } = chat;
	const format = FORMATS[name];
	if (!isRecord(fields) || !concerns(format, fields)) return chat;
	const { restoring, SearchSeals } = await import("./hosted/search-seals.ts");
	const hosted = services.webSearch?.fallback && format.read(fields);
	return {
		fields: hosted ? hosted.fields([]) : format.withoutTool(fields),
		dialect: restoring(dialect, await SearchSeals.load(account, services)),
	};
}
