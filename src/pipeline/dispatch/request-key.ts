/** What makes two questions the same. */
import { digest, hexadecimal } from "../../accounts/token-text.ts";
import type { TaskCall } from "../../tasks/task.ts";

/**
 * A hash of who asks and what. `undefined`: the answer cannot be shared, because it is a stream or a session, or the
 * question has sound or pictures in it, which are dearer to compare than worth it.
 */
export async function identityOf(
	account: string,
	model: string,
	call: TaskCall,
): Promise<string | undefined> {
	if (call.task === "live-transcription" || ("stream" in call.input && call.input.stream)) return undefined;
	let plain = true;
	const text = JSON.stringify([account, model, call], (_, value: unknown) => {
		if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer)) return value;
		plain = false;
		return null;
	});
	if (!plain) return undefined;
	return hexadecimal(await digest(text));
}
