/** The base paths of the surfaces. */
import { GATEWAY_AUTHORIZATION } from "../http/credentials.ts";
import type { Base } from "../http/route.ts";

export const V4: Base = { path: "/client/v4" };
export const ACCOUNT: Base = { path: `${V4.path}/accounts/:account` };
export const AI: Base = { path: `${ACCOUNT.path}/ai` };

/** For clients whose base address is `http://host/v1`. The account is the token's. */
export const V1: Base = { path: "/v1", account: "token", credentials: [GATEWAY_AUTHORIZATION] };

/** Azure's clients append it to their endpoint. */
export const AZURE: Base = { ...V1, path: "/openai/deployments" };

export const V1BETA: Base = { path: "/v1beta", account: "token" };

export const below = (base: Base, path: string): Base => ({ ...base, path: `${base.path}${path}` });

/** Base addresses. Clients send HEAD to them, without a credential, to check whether the server is reachable. */
export const BASE_ADDRESSES: readonly string[] = [
	"/",
	AI.path,
	...[V1, V1BETA].flatMap(({ path }) => [path, below(AI, path).path]),
];
