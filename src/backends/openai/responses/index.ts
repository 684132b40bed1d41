/** A chat by OpenAI's Responses API: https://platform.openai.com/docs/api-reference/responses. */
import { isRecord } from "../../../core/json.ts";
import type { ChatInput } from "../../../tasks/text-generation/types.ts";
import { requestChat } from "../../completion.ts";
import type { Handler } from "../../handler.ts";
import { learnRefusal, withoutIfRefused } from "../../refused-feature.ts";
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
	return withoutIfRefused(call, {
		isNamed: namesSummaries,
		request: (first) => request(input, seals, first),
		requestWithout(second) {
			// A request to a model that is known to refuse them has none.
			learnRefusal(second.target, "refusesSummaries");
			return request(input, seals, second);
		},
	});
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
const namesSummaries = ({ body }: Refusal): boolean =>
	isRecord(body) && isRecord(body.error) && body.error.param === "reasoning.summary";
