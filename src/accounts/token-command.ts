/** The messages between the token routes and the account's object. Plain data, because they cross RPC. */
import type { FailureKey } from "../core/errors.ts";
import type { Credential, Permission } from "./admission.ts";
import type { BoundGateway } from "./bound-gateway.ts";
import { permissionsOf, type TokenPolicy } from "./token-policy.ts";

/** A token's own limits, within its account's. */
export interface TokenLimits {
	/** Spent and reserved together, in a UTC day. */
	dailyMicroNeurons?: number;
	/** Spent and reserved together, in a UTC month. */
	monthlyMicroNeurons?: number;
	requestsPerMinute?: number;
}

/** The fields that the creator of a token sets. Times are epoch milliseconds. */
export interface TokenFields {
	name: string;
	policies: TokenPolicy[];
	disabled: boolean;
	notBefore?: number;
	expiresOn?: number;
	limits: TokenLimits;
	/** Absent: that of the account, if it has one. */
	gateway?: BoundGateway;
}

/** `gateway: null` removes it. */
export type TokenChanges = Omit<TokenFields, "disabled" | "limits" | "gateway"> &
	Partial<Pick<TokenFields, "disabled" | "limits">> & { gateway?: BoundGateway | null };

export interface Token extends TokenFields {
	/** 32 hexadecimal digits. */
	id: string;
	issuedOn: number;
	modifiedOn: number;
	lastUsedOn?: number;
}

export type TokenStatus = "active" | "disabled" | "expired";

/** `maker`: the caller. The object verifies it in the same step that runs the command. */
export type TokenCommand =
	/** `hash`: SHA-256 of the new token's text. The object never receives the text. */
	| { kind: "create"; maker: Credential; id: string; hash: string; fields: TokenFields }
	/** Absent fields keep their values. */
	| {
			kind: "update";
			maker: Credential;
			id: string;
			fields: TokenChanges;
	  }
	| { kind: "roll"; maker: Credential; id: string; hash: string }
	| { kind: "delete"; maker: Credential; id: string }
	| { kind: "get"; maker: Credential; id: string }
	| {
			kind: "list";
			maker: Credential;
			/** From 1. */
			page: number;
			perPage: number;
			/** The order of the times of issue. */
			direction: "asc" | "desc";
			includeExpired: boolean;
	  }
	/** Returns the token, if it may be used now. */
	| { kind: "verify"; hash: string };

export type TokenResult =
	| {
			ok: true;
			/** The token of the command, or a page of the list. */
			tokens: Token[];
			/** The number of tokens on all pages. */
			total: number;
	  }
	| { ok: false; failure: FailureKey; description?: string };

/** Implemented by `Account` and by its client. */
export interface TokenStore {
	/** Errors of the caller are results, not exceptions. */
	tokens(command: TokenCommand): Promise<TokenResult>;
}

export function statusOf({ disabled, expiresOn }: TokenFields, now: number): TokenStatus {
	if (disabled) return "disabled";
	return expiresOn !== undefined && expiresOn <= now ? "expired" : "active";
}

export const hasBudget = ({ dailyMicroNeurons, monthlyMicroNeurons }: TokenLimits): boolean =>
	dailyMicroNeurons !== undefined || monthlyMicroNeurons !== undefined;

const isLimited = (limits: TokenLimits): boolean =>
	hasBudget(limits) || limits.requestsPerMinute !== undefined;

/** A token with limits cannot grant `run`: each new token would have the limits again, so they would limit nothing. */
export function grantablePermissions({ policies, limits }: TokenFields): ReadonlySet<Permission> {
	const permissions = permissionsOf(policies);
	if (!isLimited(limits)) return permissions;
	return new Set([...permissions].filter((permission) => permission !== "run"));
}
