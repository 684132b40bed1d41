/** Moderation: the simulated verdicts of Llama Guard. Images are safe. */
import { piecesOf } from "../../tasks/moderation/index.ts";
import type { ModerationInput } from "../../tasks/moderation/types.ts";
import { verdictIn } from "../../tasks/moderation/verdict.ts";
import type { Answer } from "../../tasks/task.ts";
import { verdict } from "./guard.ts";
import { countTokens } from "./tokens.ts";

export async function moderation({ items }: ModerationInput): Promise<Answer<"moderation">> {
	const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
	const results = items.map((item) => {
		const found = piecesOf(item).map((content) => {
			const text = verdict({ messages: [{ role: "user", content }], stream: false });
			usage.prompt_tokens += countTokens(content);
			usage.completion_tokens += countTokens(text);
			return verdictIn(text);
		});
		return {
			verdict: {
				safe: found.every((each) => each?.safe),
				categories: [...new Set(found.flatMap((each) => each?.categories ?? []))],
			},
		};
	});
	usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
	return { kind: "value", output: { results, usage } };
}
