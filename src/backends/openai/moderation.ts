/** Moderation: `/moderations` (platform.openai.com/docs/api-reference/moderations), which OpenAI and Mistral have, or a guard model. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { SentUsage } from "../../core/usage.ts";
import type { ModerationInput, ModerationOutput } from "../../tasks/moderation/types.ts";
import { guardWith, isGuard } from "../guard.ts";
import type { Handler } from "../handler.ts";
import { postJson } from "../transport/http.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import { generateText } from "./chat.ts";

const ModerationReply = lazy(() =>
	z.looseObject({
		results: z.array(
			z.looseObject({
				flagged: z.boolean().optional(),
				categories: z.record(z.string(), z.boolean().nullable()),
				category_scores: z.record(z.string(), z.number().nullable()),
				category_applied_input_types: z.record(z.string(), z.array(z.string())).optional(),
			}),
		),
		usage: SentUsage.optional(),
	}),
);

const judge = guardWith(generateText);

export const moderate: Handler<"moderation"> = (input, call) =>
	isGuard(call) ? judge(input, call) : ownModeration(input, call);

/** For a server whose model scores the categories itself. */
export async function ownModeration({ items }: ModerationInput, call: Call): Promise<ModerationOutput> {
	const [first] = items;
	const input =
		items.length === 1 && typeof first?.sent !== "string" ? first?.sent : items.map(({ sent }) => sent);
	const body = { model: call.target.model, input };
	const { results, usage } = await postJson(call, "/moderations", body, ModerationReply());
	if (results.length !== items.length) throw failureOfShape(call, "a result for each input", results);
	return { results: results.map((scored) => ({ scored })), ...(usage && { usage }) };
}
