/** A chat by OpenAI's Responses API: https://platform.openai.com/docs/api-reference/responses. */
import { isRecord } from "../../../core/json.ts";
import type { ChatInput } from "../../../tasks/text-generation/types.ts";
import { requestChat } from "../../completion.ts";
import type { Handler } from "../../handler.ts";
import type { Seals } from "../../seals.ts";
import type { Call, Refusal } from "../../transport/upstream-failure.ts";
import { withModelFields } from "../model-fields.ts";
import { completionIn, type ResponsesReplyForm, WholeReply } from "./reply.ts";
import { bodyOf } from "./request.ts";
import { ResponseTranslator } from "./stream.ts";
import { verbatimBody } from "./verbatim.ts";

const PATH = "/responses";

export const generateByResponses: Handler<"text-generation"> = async (sent, call) => {
	const seals = await call.seals?.();
	const input = withModelFields(sent, call, "responses");
	const { isRefused, watched } = watchSummaries(call);
	try {
		return await request(input, seals, watched);
	} catch (error) {
		if (!isRefused()) throw error;
		learnNoSummaries(call);
		return request(input, seals, call);
	}
};

function request(
	input: ChatInput,
	seals: Seals | undefined,
	call: Call,
): ReturnType<Handler<"text-generation">> {
	const { verbatim } = input;
	const form: ResponsesReplyForm = {
		seals,
		search: input.web_search,
		verbatim: verbatim?.dialect === "responses",
	};
	if (form.verbatim && call.report) call.report.verbatim = true;
	return requestChat(call, input, {
		path: PATH,
		body: verbatim && form.verbatim ? verbatimBody(input, verbatim, call, seals) : bodyOf(input, call, seals),
		schema: WholeReply,
		completion: (reply) => completionIn(reply, form, call),
		translator: () => new ResponseTranslator(call, form, input.logprobs === true),
	});
}

/** Summaries of the reasoning need a verified organisation. The answer is the same without them. */
function watchSummaries(call: Call): { isRefused(): boolean; watched: Call } {
	let refused = false;
	const refusal = (sent: Refusal) => {
		refused =
			isRecord(sent.body) && isRecord(sent.body.error) && sent.body.error.param === "reasoning.summary";
		return call.refusal?.(sent);
	};
	return { isRefused: () => refused, watched: { ...call, refusal } };
}

function learnNoSummaries({ target: { observed, model } }: Call): void {
	if (!observed) return;
	observed.refusesSummaries ??= new Set();
	observed.refusesSummaries.add(model);
}
