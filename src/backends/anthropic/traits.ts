/**
 * Differences between models, by their names: the API answers 400 to a field that a model does not support. Documented
 * under "Extended thinking", "Adaptive thinking", "Structured outputs", and for `temperature` in the API reference. A
 * Claude without a version in its name counts as the newest. Any other name is a model of another provider behind the
 * same API.
 */

export interface Traits {
	/** `adaptive`: the request has an effort, and the model decides how long it thinks. `budget`: the request has a token budget. */
	thinking: "adaptive" | "budget" | "none";
	/** Whether it accepts `temperature`, `top_p` and `top_k`. */
	sampling: boolean;
	/** Whether it supports JSON Schemas as grammars. */
	grammar: boolean;
	/** Whether it has Anthropic's web search. */
	searches: boolean;
}

const NEWEST: Traits = { thinking: "adaptive", sampling: false, grammar: true, searches: true };
const OTHER_PROVIDER: Traits = { thinking: "budget", sampling: true, grammar: false, searches: false };

/** `claude-sonnet-4-5-20250929`, `claude-haiku-4.5`, `claude-3-7-sonnet-latest`, `anthropic.claude-opus-4-1-…-v1:0`. */
const CLAUDE = /claude-(?:([a-z]+)-)?(\d{1,2})(?!\d)(?:[.-](\d{1,2})(?!\d))?/;

export function traitsOf(modelName: string): Traits {
	const name = modelName.toLowerCase();
	if (!name.includes("claude")) return OTHER_PROVIDER;
	const match = CLAUDE.exec(name);
	if (!match) return NEWEST;
	const [, family, major, minor] = match;
	const version = Number(major) * 100 + Number(minor ?? 0);
	return {
		thinking: version >= 406 ? "adaptive" : version >= 307 ? "budget" : "none",
		sampling: version < 407,
		grammar: version >= 405 || (version === 401 && family === "opus"),
		searches: version >= 305,
	};
}

export const searchesWeb = (model: string): boolean => traitsOf(model).searches;
