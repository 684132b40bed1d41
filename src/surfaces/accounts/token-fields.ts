/** Converts a token between the JSON of Cloudflare's API and the fields that the account stores. */
import * as z from "zod";
import { MICRO_NEURONS } from "../../accounts/admission.ts";
import type { BoundGateway } from "../../accounts/bound-gateway.ts";
import {
	statusOf,
	type Token,
	type TokenChanges,
	type TokenFields,
	type TokenLimits,
} from "../../accounts/token-command.ts";
import { groupById, PERMISSION_GROUPS, type TokenPolicy } from "../../accounts/token-policy.ts";
import { didYouMean } from "../../core/did-you-mean.ts";
import { lazy } from "../../core/lazy.ts";

const MAX_NAME_CHARACTERS = 120;
const MAX_POLICIES = 20;
const MAX_GROUPS = 50;
const MAX_NEURONS = 1e9;
const MAX_REQUESTS_PER_MINUTE = 1e6;

const RESOURCE = "com.cloudflare.api.account.";

const GROUP_NAMES = PERMISSION_GROUPS.map(({ name }) => name);
const LISTED = "; GET …/tokens/permission_groups lists them";

const Instant = lazy(() => z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)));

const Group = lazy(() =>
	z
		// The product's list of groups has `meta`.
		.strictObject({ id: z.string().optional(), name: z.string().optional(), meta: z.unknown().optional() })
		.transform(({ id, name }, context) => {
			const group =
				id === undefined
					? PERMISSION_GROUPS.find((candidate) => candidate.name === name)
					: groupById(id.toLowerCase());
			if (group && (name === undefined || name === group.name)) return { id: group.id, name: group.name };
			const message = group
				? "its id and its name belong to different permission groups"
				: `no such permission group${didYouMean(name ?? "", GROUP_NAMES) || LISTED}`;
			context.addIssue({ code: "custom", message });
			return z.NEVER;
		}),
);

const Policy = lazy(() =>
	z.strictObject({
		id: z.string().nullish(),
		effect: z.enum(["allow", "deny"]),
		permission_groups: z.array(Group()).min(1).max(MAX_GROUPS),
		resources: z.record(z.string(), z.unknown()),
	}),
);

const Neurons = lazy(() => z.number().min(0).max(MAX_NEURONS));
const microNeurons = (neurons: number): number => Math.round(neurons * MICRO_NEURONS);

/** Not in the product. An empty object means no limits. */
const LimitsSchema = lazy(() =>
	z
		.strictObject({
			daily_neurons: Neurons().nullish(),
			monthly_neurons: Neurons().nullish(),
			requests_per_minute: z.int().min(1).max(MAX_REQUESTS_PER_MINUTE).nullish(),
		})
		.transform(
			({ daily_neurons, monthly_neurons, requests_per_minute }): TokenLimits => ({
				...(typeof daily_neurons === "number" && { dailyMicroNeurons: microNeurons(daily_neurons) }),
				...(typeof monthly_neurons === "number" && { monthlyMicroNeurons: microNeurons(monthly_neurons) }),
				...(typeof requests_per_minute === "number" && { requestsPerMinute: requests_per_minute }),
			}),
		),
);

/** Reserved for the gateway. */
const RESERVED_KEY = /^cf\./;
const MAX_METADATA = 5;
const GATEWAY_ID = /^[a-z0-9_-]{1,64}$/;
const MAX_METADATA_CHARACTERS = 256;

const Metadata = lazy(() =>
	z
		.record(
			z.string().min(1).max(MAX_METADATA_CHARACTERS),
			z.union([z.string().max(MAX_METADATA_CHARACTERS), z.number(), z.boolean()]),
		)
		.refine((metadata) => Object.keys(metadata).length <= MAX_METADATA, `at most ${MAX_METADATA} entries`)
		.refine((metadata) => !Object.keys(metadata).some((key) => RESERVED_KEY.test(key)), {
			message: "keys that begin with cf. are reserved",
		}),
);

/** Not in the product. The gateway that a token or an account binds. */
export const BoundGatewaySchema = lazy(() =>
	z
		.strictObject({
			id: z.string().regex(GATEWAY_ID, "expected the id of a gateway"),
			mode: z.enum(["required", "default"]),
			metadata: Metadata().optional(),
			custom_cost: z.boolean().optional(),
		})
		.transform(
			({ custom_cost: customCost, id, metadata, mode }): BoundGateway => ({
				...{ id, mode },
				...(metadata && { metadata }),
				...(customCost !== undefined && { customCost }),
			}),
		),
);

export const boundGatewayJson = ({ customCost, ...fields }: BoundGateway): object => ({
	...fields,
	...(customCost !== undefined && { custom_cost: customCost }),
});

/** Some deployments cannot determine the caller's address reliably, so a condition that may not hold is refused. */
const Condition = lazy(() =>
	z
		.looseObject({ request_ip: z.record(z.string(), z.unknown()).nullish() })
		.refine(({ request_ip, ...others }) => Object.keys({ ...request_ip, ...others }).length === 0, {
			message: "the address of a caller is not checked here: leave the condition out",
		}),
);

/**
 * Strict, because a token with a misspelt `expires_on` would never expire. The fields that the API itself returns are
 * accepted and ignored, so that a client can send back the JSON of a token.
 */
const TokenSchema = lazy(() =>
	z.strictObject({
		name: z.string().min(1).max(MAX_NAME_CHARACTERS),
		policies: z.array(Policy()).min(1).max(MAX_POLICIES),
		condition: Condition().nullish(),
		not_before: Instant().nullish(),
		expires_on: Instant().nullish(),
		status: z.enum(["active", "disabled", "expired"]).optional(),
		limits: LimitsSchema().nullable().optional(),
		gateway: BoundGatewaySchema().nullable().optional(),
		id: z.unknown().optional(),
		issued_on: z.unknown().optional(),
		modified_on: z.unknown().optional(),
		last_used_on: z.unknown().optional(),
		creator_email_at_creation: z.unknown().optional(),
		provisioner_id: z.unknown().optional(),
		provisioner_type: z.unknown().optional(),
	}),
);

type Parsed = z.output<ReturnType<typeof TokenSchema>>;
interface SchemaContext {
	account: string;
	/** Milliseconds since 1970. */
	now: number;
	/** Makes the id of a policy. */
	newId(): string;
}

type Refuse = (path: (string | number)[], message: string) => void;

/** The schema with the checks of one request. Only these are made for each request: to make the fields takes longer than to check them. */
const checkedSchema = (account: string, check: (fields: Parsed, refuse: Refuse) => void) =>
	TokenSchema().superRefine((fields, context) => {
		const refuse: Refuse = (path, message) => context.addIssue({ code: "custom", path, message });
		for (const [index, { resources }] of fields.policies.entries())
			if (!isOfAccount(resources, account))
				refuse(
					["policies", index, "resources"],
					`expected {"${RESOURCE}${account}": "*"}, the only resource here`,
				);
		check(fields, refuse);
	});

function isOfAccount(resources: Record<string, unknown>, account: string): boolean {
	const allowed = [`${RESOURCE}${account}`, `${RESOURCE}*`];
	const entries = Object.entries(resources);
	return entries.length > 0 && entries.every(([key, value]) => allowed.includes(key) && value === "*");
}

/** The schema of a new token. */
export const creationSchema = ({ account, now, newId }: SchemaContext): z.ZodType<TokenFields> =>
	checkedSchema(account, (fields, refuse) => {
		for (const [index, { id }] of fields.policies.entries())
			if (id) refuse(["policies", index, "id"], "a new token cannot have the policy of another token");
		if (typeof fields.expires_on === "number" && fields.expires_on <= now)
			refuse(["expires_on"], "is in the past");
		if (fields.status === "expired") refuse(["status"], "expected active or disabled");
		checkOrder(fields, refuse);
	}).transform((fields) => ({
		...commonFields(fields, newId),
		disabled: fields.status === "disabled",
		limits: fields.limits ?? {},
		...(fields.gateway && { gateway: fields.gateway }),
	}));

/**
 * The schema of an update, which replaces all fields of a token. `status`, `limits` and `gateway` stay unchanged if they are absent,
 * because the product's clients may omit them. `null` removes the limits or the gateway.
 */
export const updateSchema = ({ account, now, newId }: SchemaContext): z.ZodType<TokenChanges> =>
	checkedSchema(account, (fields, refuse) => {
		if (fields.status === "expired" && !(typeof fields.expires_on === "number" && fields.expires_on <= now))
			refuse(["status"], "a token expires by its expires_on");
		checkOrder(fields, refuse);
	}).transform((fields) => ({
		...commonFields(fields, newId),
		...(fields.status !== undefined && { disabled: fields.status === "disabled" }),
		...(fields.limits !== undefined && { limits: fields.limits ?? {} }),
		...(fields.gateway !== undefined && { gateway: fields.gateway }),
	}));

function checkOrder({ expires_on, not_before }: Parsed, refuse: Refuse): void {
	if (typeof expires_on === "number" && typeof not_before === "number" && not_before >= expires_on)
		refuse(["not_before"], "is not before expires_on");
}

const commonFields = ({ name, policies, not_before, expires_on }: Parsed, newId: () => string) => ({
	name,
	policies: policies.map(
		({ id, resources, ...policy }): TokenPolicy => ({
			id: id || newId(),
			...policy,
			resources: Object.fromEntries(Object.keys(resources).map((key) => [key, "*"])),
		}),
	),
	...(typeof not_before === "number" && { notBefore: not_before }),
	...(typeof expires_on === "number" && { expiresOn: expires_on }),
});

/** ISO 8601 without milliseconds, as in the product. */
const instant = (milliseconds: number): string =>
	new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, "Z");

/** The fields of a token in the reply of `verify`. */
export const verifiedToken = (token: Token, now: number): object => ({
	id: token.id,
	status: statusOf(token, now),
	...(token.notBefore !== undefined && { not_before: instant(token.notBefore) }),
	...(token.expiresOn !== undefined && { expires_on: instant(token.expiresOn) }),
});

export function tokenJson(token: Token, now: number): object {
	const { dailyMicroNeurons, monthlyMicroNeurons, requestsPerMinute } = token.limits;
	const limits = {
		...(dailyMicroNeurons !== undefined && { daily_neurons: dailyMicroNeurons / MICRO_NEURONS }),
		...(monthlyMicroNeurons !== undefined && { monthly_neurons: monthlyMicroNeurons / MICRO_NEURONS }),
		...(requestsPerMinute !== undefined && { requests_per_minute: requestsPerMinute }),
	};
	return {
		...verifiedToken(token, now),
		name: token.name,
		issued_on: instant(token.issuedOn),
		modified_on: instant(token.modifiedOn),
		...(token.lastUsedOn !== undefined && { last_used_on: instant(token.lastUsedOn) }),
		policies: token.policies,
		...(Object.keys(limits).length > 0 && { limits }),
		...(token.gateway && { gateway: boundGatewayJson(token.gateway) }),
	};
}
