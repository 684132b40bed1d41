/** Embeddings: a model with several kinds of pooling has a section for each but the default. */
import { inputFamily } from "../../models/family.ts";
import type { Handler } from "../handler.ts";
import { embedTexts as embed } from "../openai/embeddings.ts";
import { withModel } from "./address.ts";
import { tokensOf, withinContext } from "./too-long.ts";

/** Texts whose tokens are requested at the same time. */
const AT_ONCE = 8;

export const embedTexts: Handler<"text-embeddings"> = (input, call) => {
	const { pooling, tokens, truncate, texts } = input;
	const isChosen = inputFamily(call.model).embeddings?.pooling === "chosen";
	const section = isChosen && pooling === "cls" ? withModel(call, `${call.target.model}/${pooling}`) : call;
	const truncated = async (limit: number) => {
		const rows: number[][] = [];
		for (let first = 0; first < texts.length; first += AT_ONCE)
			rows.push(
				...(await Promise.all(
					texts.slice(first, first + AT_ONCE).map((text) => tokensOf(section, text, true)),
				)),
			);
		return embed({ ...input, texts: [], tokens: rows.map((row) => withEnd(row, limit)) }, section);
	};
	return withinContext(section, {
		request: (first) => embed(input, first),
		requestWithin: truncate && !tokens ? truncated : undefined,
	});
};

/** The last token is the mark of the end. */
const withEnd = (tokens: readonly number[], limit: number): number[] =>
	tokens.length <= limit ? [...tokens] : [...tokens.slice(0, limit - 1), ...tokens.slice(-1)];
