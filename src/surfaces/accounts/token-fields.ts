/** A token as Cloudflare's API writes it, to and from the fields that the account keeps. */
import * as z from "zod";
import { MICRO_NEURONS } from "../../accounts/admission.ts";
import { statusOf, type Token, type TokenFields, type TokenLimits } from "../../accounts/token-command.ts";
import { groupById, PERMISSION_GROUPS, type TokenPolicy } from "../../accounts/token-policy.ts";

const MAX_NAME_CHARACTERS = 120;
const MAX_POLICIES = 20;
const MAX_GROUPS = 50;
const MAX_NEURONS = 1e9;
const MAX_REQUESTS_PER_MINUTE = 1e6;

const RESOURCE = "com.cloudflare.api.account.";

const Instant = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const Group = z
	.object({ id: z.string().optional(), name: z.string().optional() })
	.transform(({ id, name }, context) => {
		const group =
			id === undefined ? PERMISSION_GROUPS.find((known) => known.name === name) : groupById(id.toLowerCase());
		if (group && (name === undefined || name === group.name)) return { id: group.id, name: group.name };
		const message = group
			? "its id and its name are of two permission groups"
			: "no such permission group; GET …/tokens/permission_groups lists them";
		context.addIssue({ code: "custom", message });
		return z.NEVER;
	});

const policyOf = (account: string) =>
	z.object({
		id: z.string().nullish(),
		effect: z.enum(["allow", "deny"]),
		permission_groups: z.array(Group).min(1).max(MAX_GROUPS),
		resources: z.record(z.string(), z.unknown()).transform((resources, context): Record<string, string> => {
			const own = [`${RESOURCE}${account}`, `${RESOURCE}*`];
			const entries = Object.entries(resources);
			const fits = ([key, value]: [string, unknown]) => own.includes(key) && value === "*";
			if (entries.length > 0 && entries.every(fits))
				return Object.fromEntries(entries.map(([key]) => [key, "*"]));
			context.addIssue({
				code: "custom",
				message: `expected {"${RESOURCE}${account}": "*"}, the only resource here`,
			});
			return z.NEVER;
		}),
	});

const Neurons = z.number().min(0).max(MAX_NEURONS);
const microNeurons = (neurons: number): number => Math.round(neurons * MICRO_NEURONS);

/** Ours. An empty object is no limits. */
const LimitsSchema = z
	.strictObject({
		daily_neurons: Neurons.nullish(),
		monthly_neurons: Neurons.nullish(),
		requests_per_minute: z.int().min(1).max(MAX_REQUESTS_PER_MINUTE).nullish(),
	})
	.transform(
		({ daily_neurons, monthly_neurons, requests_per_minute }): TokenLimits => ({
			...(typeof daily_neurons === "number" && { dailyMicroNeurons: microNeurons(daily_neurons) }),
			...(typeof monthly_neurons === "number" && { monthlyMicroNeurons: microNeurons(monthly_neurons) }),
			...(typeof requests_per_minute === "number" && { requestsPerMinute: requests_per_minute }),
		}),
	);

/** Addresses cannot be told for certain everywhere that this runs: no condition is better than one that may not hold. */
const Condition = z
	.looseObject({ request_ip: z.record(z.string(), z.unknown()).nullish() })
	.refine(({ request_ip, ...others }) => Object.keys({ ...request_ip, ...others }).length === 0, {
		message: "the address of a caller is not checked here: leave the condition out",
	});

/**
 * Strict, because a misspelt `expires_on` would be a token for ever. What the API itself tells of a token may be sent
 * back to it.
 */
const fieldsOf = (account: string) =>
	z.strictObject({
		name: z.string().min(1).max(MAX_NAME_CHARACTERS),
		policies: z.array(policyOf(account)).min(1).max(MAX_POLICIES),
		condition: Condition.nullish(),
		not_before: Instant.nullish(),
		expires_on: Instant.nullish(),
		status: z.enum(["active", "disabled", "expired"]).optional(),
		limits: LimitsSchema.nullable().optional(),
		id: z.unknown().optional(),
		issued_on: z.unknown().optional(),
		modified_on: z.unknown().optional(),
		last_used_on: z.unknown().optional(),
		creator_email_at_creation: z.unknown().optional(),
		provisioner_id: z.unknown().optional(),
		provisioner_type: z.unknown().optional(),
	});

type Parsed = z.output<ReturnType<typeof fieldsOf>>;
interface Making {
	account: string;
	/** Milliseconds since 1970. */
	now: number;
	/** Of a policy. */
	newId(): string;
}

/** A new token. */
export const creationOf = ({ account, now, newId }: Making): z.ZodType<TokenFields> =>
	fieldsOf(account)
		.superRefine((fields, context) => {
			const refuse = (path: (string | number)[], message: string) =>
				context.addIssue({ code: "custom", path, message });
			for (const [index, { id }] of fields.policies.entries())
				if (id) refuse(["policies", index, "id"], "a new token has no policies of another one");
			if (typeof fields.expires_on === "number" && fields.expires_on <= now)
				refuse(["expires_on"], "is in the past");
			if (fields.status === "expired") refuse(["status"], "expected active or disabled");
			checkOrder(fields, refuse);
		})
		.transform((fields) => ({
			...common(fields, newId),
			disabled: fields.status === "disabled",
			limits: fields.limits ?? {},
		}));

/**
 * Replaces all of a token but what the product's clients cannot mean to: `status` and `limits` stay as they are where
 * they are not said. `limits: null` lifts them.
 */
export const updateOf = ({
	account,
	now,
	newId,
}: Making): z.ZodType<Omit<TokenFields, "disabled" | "limits"> & Partial<TokenFields>> =>
	fieldsOf(account)
		.superRefine((fields, context) => {
			const refuse = (path: (string | number)[], message: string) =>
				context.addIssue({ code: "custom", path, message });
			if (fields.status === "expired" && !(typeof fields.expires_on === "number" && fields.expires_on <= now))
				refuse(["status"], "a token expires by its expires_on");
			checkOrder(fields, refuse);
		})
		.transform((fields) => ({
			...common(fields, newId),
			...(fields.status !== undefined && { disabled: fields.status === "disabled" }),
			...(fields.limits !== undefined && { limits: fields.limits ?? {} }),
		}));

function checkOrder(
	{ expires_on, not_before }: Parsed,
	refuse: (path: string[], message: string) => void,
): void {
	if (typeof expires_on === "number" && typeof not_before === "number" && not_before >= expires_on)
		refuse(["not_before"], "is not before expires_on");
}

const common = ({ name, policies, not_before, expires_on }: Parsed, newId: () => string) => ({
	name,
	policies: policies.map(({ id, ...policy }): TokenPolicy => ({ id: id || newId(), ...policy })),
	...(typeof not_before === "number" && { notBefore: not_before }),
	...(typeof expires_on === "number" && { expiresOn: expires_on }),
});

/** To the second, as the product has it. */
const instant = (milliseconds: number): string =>
	new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, "Z");

/** As far as `verify` tells of a token. */
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
	};
}
