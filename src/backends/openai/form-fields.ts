/** Fields of a form, as OpenAI's SDKs write them. */
import { isRecord } from "../../core/json.ts";

/** An absent field is left out, a list is several texts, an object is JSON. */
export function appendFields(form: FormData, fields: Readonly<Record<string, unknown>>): void {
	for (const [name, value] of Object.entries(fields))
		for (const each of Array.isArray(value) ? value : [value])
			if (each !== undefined) form.append(name, isRecord(each) ? JSON.stringify(each) : String(each));
}
