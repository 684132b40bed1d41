/** The answer of an object about an index: RPC would lose the class of an error. */
import { AiError, type FailureKey } from "../../../core/errors.ts";
import { indexNotFound } from "../failures.ts";

/** `gone`: the index was deleted. */
export type IndexAnswer<Value> =
	| { ok: true; value: Value }
	| { ok: false; failure: FailureKey | "gone"; description: string };

export async function answerOf<Value>(use: () => Value | Promise<Value>): Promise<IndexAnswer<Value>> {
	try {
		return { ok: true, value: await use() };
	} catch (thrown) {
		if (!(thrown instanceof AiError)) throw thrown;
		return { ok: false, failure: thrown.key, description: thrown.description };
	}
}

/** Throws the failure. `name`: of the index. */
export function valueIn<Value>(answer: IndexAnswer<Value>, name: string): Value {
	if (answer.ok) return answer.value;
	if (answer.failure === "gone") throw indexNotFound(name);
	throw new AiError(answer.failure, answer.description);
}
