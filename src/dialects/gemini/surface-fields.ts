/** What the surface adds to the body of a request: the method of its address. */
import { isRecord } from "../../core/json.ts";

/** `counted`: the request's tokens are counted. */
export interface SurfaceFields {
	stream?: boolean;
	counted?: true;
}

/** The caller's own fields with these names. Copies of the body have it, and their JSON does not. */
const SENT = Symbol("sent");
const NAMES = ["stream", "counted"] as const;

export const withSurfaceFields = (body: unknown, added: SurfaceFields): object => {
	const fields = isRecord(body) ? body : {};
	const sent = NAMES.filter((name) => Object.hasOwn(fields, name));
	return { ...fields, ...added, [SENT]: sent };
};

/** Whether the caller sent the field. */
export function isSent(name: string, fields: object): boolean {
	const { [SENT]: sent } = fields as { [SENT]?: readonly string[] };
	return !NAMES.some((own) => own === name) || (sent?.includes(name) ?? false);
}
