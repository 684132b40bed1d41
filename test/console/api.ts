/** The REST API of the started gateway, as the operator. */
import { inject } from "vitest";
import { ADMIN_TOKEN } from "./gateways.ts";

/** Sends a request as the operator, or with a token. Returns the `result`. */
export async function api<T>(method: string, path: string, body?: unknown, token = ADMIN_TOKEN): Promise<T> {
	const response = await fetch(`${inject("serve")}/client/v4${path}`, {
		method,
		headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
		...(body !== undefined && { body: JSON.stringify(body) }),
	});
	const { result, errors } = (await response.json()) as { result: T; errors: unknown[] };
	if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(errors)}`);
	return result;
}

export interface CreatedToken {
	id: string;
	value: string;
}

/** `groups`: names of permission groups. */
export const createToken = (
	account: string,
	name: string,
	groups: readonly string[],
): Promise<CreatedToken> =>
	api("POST", `/accounts/${account}/tokens`, {
		name,
		policies: [
			{
				effect: "allow",
				permission_groups: groups.map((group) => ({ name: group })),
				resources: { [`com.cloudflare.api.account.${account}`]: "*" },
			},
		],
	});
