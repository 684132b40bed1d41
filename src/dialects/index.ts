/** Loads dialects. Those of chat models are part of the main module; the others load at their first use. */
import { onFirstUse } from "../core/lazy.ts";
import type { Model } from "../models/model.ts";
import { CHAT_READERS, CHAT_WRITERS } from "./chat/families.ts";
import type { Dialect, NativeDialect } from "./dialect.ts";
import { inputFailureOf } from "./invalid-input.ts";

export const otherDialects = onFirstUse(() => import("./others.ts"));

export function loadDialect(model: Model): NativeDialect | Promise<NativeDialect> {
	const reader = CHAT_READERS[model.input];
	const writer = CHAT_WRITERS[model.output];
	if (reader && writer) return { reader, writer, inputFailure: inputFailureOf(model) };
	const others = otherDialects();
	return others instanceof Promise
		? others.then(({ nativeDialect }) => nativeDialect(model))
		: others.nativeDialect(model);
}

export async function loadLiveDialect(model: Model): Promise<Dialect> {
	const { liveDialect } = await otherDialects();
	return liveDialect(model);
}
