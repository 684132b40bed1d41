/** Every model's own dialect. */
import { AiError } from "../core/errors.ts";
import type { Model } from "../models/model.ts";
import type { Dialect } from "./dialect.ts";
import { LIVE, READERS, WRITERS } from "./families.ts";

export const nativeDialect = (model: Model): Dialect => ({
	reader: READERS[model.input],
	writer: WRITERS[model.output],
});

export function liveDialect({ id, input }: Model): Dialect {
	const dialect = LIVE[input];
	if (!dialect) throw new AiError("invalidInput", `Invalid input: ${id} cannot be asked over a websocket`);
	return dialect;
}
