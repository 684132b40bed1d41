/** The header of the runtime's `Ai` class that names the model of a run. */
export const MODEL_HEADER = "cf-consn-model-id";

/** The header is `{model}` or `{prefix}:{model}`. The id of a prefixed model begins with `@`, and no id contains `:@`. */
export function modelOf(header: string): string {
	const at = header.indexOf(":@");
	return at < 0 ? header : header.slice(at + 1);
}
