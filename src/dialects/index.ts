/** Loads dialects. Those of chat models are part of the main module; the others load at their first use. */
import { onFirstUse } from "../core/lazy.ts";
import type { Model } from "../models/model.ts";
import { THIRD_PARTY_SOURCE } from "../models/third-party.ts";
import { CHAT_READERS, CHAT_WRITERS } from "./chat/families.ts";
import type { Dialect, NativeDialect } from "./dialect.ts";

export const otherDialects = onFirstUse(() => import("./others.ts"));

export function loadDialect(model: Model): NativeDialect | Promise<NativeDialect> {
	const reader = CHAT_READERS[model.input];
	const writer = CHAT_WRITERS[model.output];
	if (reader && writer) return withInputFailure({ reader, writer }, model);
	const others = otherDialects();
	return others instanceof Promise
		? others.then(({ nativeDialect }) => withInputFailure(nativeDialect(model), model))
		: withInputFailure(others.nativeDialect(model), model);
}

/** Models of providers run in AI Gateway, which has its own failure. */
const withInputFailure = (dialect: NativeDialect, { source }: Model): NativeDialect =>
	source === THIRD_PARTY_SOURCE ? { ...dialect, inputFailure: "userInputError" } : dialect;

export async function loadLiveDialect(model: Model): Promise<Dialect> {
	const { liveDialect } = await otherDialects();
	return liveDialect(model);
}
