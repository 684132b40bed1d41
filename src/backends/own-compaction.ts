/** The backends that shorten a conversation by themselves, as `context_management` of OpenAI's Responses asks. */
import { isOpenAiService } from "./openai/hosts.ts";
import { openAiModel } from "./openai/model-table.ts";

/** A backend that a route names, and its model. */
interface CompactionTarget {
	kind: string;
	urls: readonly string[];
	api?: string | undefined;
	model: string;
}

export const compactsItself = ({ kind, urls, api, model }: CompactionTarget): boolean =>
	kind === "openai" &&
	api !== "chat" &&
	urls.length > 0 &&
	urls.every((url) => isOpenAiService({ url })) &&
	openAiModel(model)?.apis.includes("responses") !== false;
