/** Every model's own dialect, of all families. */
import type { Model } from "../models/model.ts";
import type { Dialect, NativeDialect } from "./dialect.ts";
import { LIVE, READERS, WRITERS } from "./families.ts";
import { inputFailureOf, invalidInput } from "./invalid-input.ts";

export const nativeDialect = (model: Model): NativeDialect => ({
	reader: READERS[model.input],
	writer: WRITERS[model.output],
	inputFailure: inputFailureOf(model),
});

export function liveDialect({ id, input }: Model): Dialect {
	const dialect = LIVE[input];
	if (!dialect) throw invalidInput(`${id} cannot be used over a websocket`);
	return dialect;
}
