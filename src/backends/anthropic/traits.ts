/**
 * What differs from model to model, told by its name: the API refuses with 400 what a model does not take. As documented
 * under "Extended thinking", "Adaptive thinking", "Structured outputs" and for `temperature` in the API reference. A
 * Claude whose name says no version is taken for the newest; a name that is no Claude's, for another maker's model
 * behind the same API, of which nothing is expected.
 */

export interface Traits {
	/** `adaptive`: the model decides how long, and is told an effort; `budget`: it is told how many tokens. */
	thinking: "adaptive" | "budget" | "none";
	/** Whether it takes `temperature`, `top_p` and `top_k`. */
	sampling: boolean;
	/** Whether it keeps to a JSON Schema as to a grammar. */
	grammar: boolean;
}

const NEWEST: Traits = { thinking: "adaptive", sampling: false, grammar: true };
const OTHER_MAKER: Traits = { thinking: "budget", sampling: true, grammar: false };

/** `claude-sonnet-4-5-20250929`, `claude-haiku-4.5`, `claude-3-7-sonnet-latest`, `anthropic.claude-opus-4-1-…-v1:0`. */
const CLAUDE = /claude-(?:([a-z]+)-)?(\d{1,2})(?!\d)(?:[.-](\d{1,2})(?!\d))?/;

export function traitsOf(modelName: string): Traits {
	const name = modelName.toLowerCase();
	if (!name.includes("claude")) return OTHER_MAKER;
	const found = CLAUDE.exec(name);
	if (!found) return NEWEST;
	const [, family, major, minor] = found;
	const version = Number(major) * 100 + Number(minor ?? 0);
	return {
		thinking: version >= 406 ? "adaptive" : version >= 307 ? "budget" : "none",
		sampling: version < 407,
		grammar: version >= 405 || (version === 401 && family === "opus"),
	};
}
