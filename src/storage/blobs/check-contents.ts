/** Tries a store outside: puts, reads and deletes a small content. */
import { boundedText } from "../../outbound/bounded-text.ts";
import type { ContentStore } from "./contents.ts";

/** Below a name that no account has. */
const FOLDER = "ganglion-check";

type CheckStep = "put" | "get" | "delete";

/** A step of the check has failed. The message has no secret. */
export class StoreCheckFailure extends Error {
	override readonly name = "StoreCheckFailure";
	readonly step: CheckStep;

	constructor(step: CheckStep, cause: unknown) {
		super(cause instanceof Error ? cause.message : "no answer", { cause });
		this.step = step;
	}
}

/** Throws a {@link StoreCheckFailure}. */
export async function checkContents(contents: ContentStore): Promise<void> {
	const name = `${FOLDER}/${crypto.randomUUID()}`;
	const bytes = new TextEncoder().encode(name);
	const attempt = async <T>(step: CheckStep, call: () => Promise<T>): Promise<T> => {
		try {
			return await call();
		} catch (cause) {
			throw new StoreCheckFailure(step, cause);
		}
	};
	async function* parts() {
		yield bytes;
	}
	await attempt("put", () => contents.write(name, parts()));
	await attempt("get", async () => {
		const body = await contents.read(name, { offset: 0, length: bytes.length });
		const text = await boundedText(body ?? null, bytes.length);
		if (text !== name) throw new Error("the store returned other bytes than were put");
	}).finally(() => contents.delete([name]).catch(() => {}));
	await attempt("delete", async () => {
		await contents.delete([name]);
		if (await contents.read(name, { offset: 0, length: 1 }))
			throw new Error("the object exists after its deletion");
	});
}
