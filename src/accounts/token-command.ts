/** What the token routes ask of the account's object, and what it answers. Plain data: it crosses RPC. */
import type { FailureKey } from "../core/errors.ts";
import type { Credential, Permission } from "./admission.ts";
import { permissionsOf, type TokenPolicy } from "./token-policy.ts";

/** A token's own limits, within its account's. */
export interface TokenLimits {
	/** A UTC day, spent and reserved together. */
	dailyMicroNeurons?: number;
	/** A UTC month, likewise. */
	monthlyMicroNeurons?: number;
	requestsPerMinute?: number;
}

/** What the maker of a token decides. Times are milliseconds since 1970. */
export interface TokenFields {
	name: string;
	policies: TokenPolicy[];
	disabled: boolean;
	notBefore?: number;
	expiresOn?: number;
	limits: TokenLimits;
}

export interface Token extends TokenFields {
	/** 32 hexadecimal digits. */
	id: string;
	issuedOn: number;
	modifiedOn: number;
	lastUsedOn?: number;
}

export type TokenStatus = "active" | "disabled" | "expired";

/** `maker`: who asks. The object checks it again, in the step that acts on it. */
export type TokenCommand =
	/** `hash`: SHA-256 of the new token's text, which the object never sees. */
	| { kind: "create"; maker: Credential; id: string; hash: string; fields: TokenFields }
	/** What is not among the fields stays as it was. */
	| {
			kind: "update";
			maker: Credential;
			id: string;
			fields: Omit<TokenFields, "disabled" | "limits"> & Partial<TokenFields>;
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
			/** By time of issue. */
			direction: "asc" | "desc";
			includeExpired: boolean;
	  }
	/** Which token it is, if it may be used now. */
	| { kind: "verify"; hash: string };

export type TokenResult =
	| {
			ok: true;
			/** The token that was asked for, or a page of the list. */
			tokens: Token[];
			/** All that the list has. */
			total: number;
	  }
	| { ok: false; failure: FailureKey; description?: string };

/** What `Account` and the Worker's side of it offer beside the ledger. */
export interface TokenStore {
	/** Never throws for what the caller did. */
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

/** Limits that every token made would have anew are none: a token that has some gives nobody else models to run. */
export function permissionsToGive({ policies, limits }: TokenFields): ReadonlySet<Permission> {
	const own = permissionsOf(policies);
	return isLimited(limits) ? new Set([...own].filter((permission) => permission !== "run")) : own;
}
