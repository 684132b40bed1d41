/**
 * A call of a streamed message. SDKs parse the arguments so far at each event, and throw if they are no beginning of JSON. So only
 * repaired JSON is sent; arguments that are no object are sent at the end, as {@link argumentsObject} has them.
 */
import { AiError } from "../../core/errors.ts";
import { JsonRepair } from "../../core/json-repair.ts";
import { argumentsObject } from "../chat/chunks.ts";

export class OpenToolUse {
	readonly id: string;
	readonly name: string;
	readonly seal: string;
	/** Its block has ended. */
	isClosed = false;
	readonly #json = new JsonRepair();
	#unsent = "";

	constructor({ id, name }: { id: string; name: string }, seal = "") {
		this.id = id;
		this.name = name;
		this.seal = seal;
	}

	/** Whether its arguments are complete. */
	get isComplete(): boolean {
		return this.#json.state === "complete";
	}

	/** Throws 5001 for arguments that cannot become JSON. */
	add(fragment: string): void {
		this.#unsent += this.#json.write(fragment);
		if (this.#json.state === "broken")
			throw new AiError("executionFailed", "The engine wrote a tool call whose arguments are no JSON");
	}

	/** A fragment that the caller has received in an event of the upstream. */
	addForwarded(fragment: string): void {
		this.#json.write(fragment);
	}

	/** Returns the arguments that are not sent. */
	take(isEnd: boolean): string {
		const isObject = this.#json.state !== "other";
		if (!isObject && !isEnd) return "";
		const unsent = this.#unsent;
		this.#unsent = "";
		return isObject || unsent === "" ? unsent : JSON.stringify(argumentsObject(unsent));
	}
}
