/** The key under which identical requests share an answer. */
import { digest, hexadecimal } from "../../accounts/token-text.ts";
import type { TaskCall } from "../../tasks/task.ts";
import { isShareable } from "../../tasks/traits.ts";

/**
 * A hash of account, model and call. `undefined`: the answer cannot be shared, because it is a stream or a session, or the
 * input contains media, which cost more to compare than sharing saves.
 */
export async function requestKey(
	account: string,
	model: string,
	call: TaskCall,
): Promise<string | undefined> {
	if (!isShareable(call)) return undefined;
	let isText = true;
	const text = JSON.stringify([account, model, call], (_, value: unknown) => {
		if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer)) return value;
		isText = false;
		return null;
	});
	if (!isText) return undefined;
	return hexadecimal(await digest(text));
}
