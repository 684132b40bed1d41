/**
 * Aliases of a gateway: `custom/{name}` is an ordered pool of models. AI Gateway has them since 2026-11
 * (https://developers.cloudflare.com/ai-gateway/features/routing/model-aliases). Its management API is not documented; ours has
 * the style of the other routes of a gateway.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";

/** In front of an alias in the name of a model. */
export const ALIAS = "custom/";

export const MAX_TARGETS = 32;
const MAX_MODEL_CHARACTERS = 256;

/** Names that choose among models themselves. */
const CHOOSES = /^(?:custom|dynamic)\/|^cloudflare\/auto$/;

export const AliasName = lazy(() =>
	z.preprocess(
		(name) => (typeof name === "string" && name.startsWith(ALIAS) ? name.slice(ALIAS.length) : name),
		z.string().regex(/^[\w.-]{1,64}$/, "expected 1 to 64 letters, digits, _, . or -"),
	),
);

const AliasTarget = lazy(() =>
	z
		.string()
		.min(1)
		.max(MAX_MODEL_CHARACTERS)
		.regex(/^[\x21-\x7e]+$/, "expected the id of a model")
		.refine(
			(id) => !CHOOSES.test(id),
			"expected the id of a model, not an alias, a dynamic route or cloudflare/auto",
		),
);

const fields = lazy(() => ({
	/** `fallback`: in this order, each if the one before it fails. `smart`: in the order of `rank`. */
	routing: z.enum(["fallback", "smart"]).default("fallback"),
	/** Ids of models, as a request has them. */
	models: z
		.array(AliasTarget())
		.max(MAX_TARGETS)
		.refine((models) => new Set(models).size === models.length, "expected different models"),
}));

export const AliasCreate = lazy(() => z.object({ name: AliasName(), ...fields() }));
export const AliasUpdate = lazy(() => z.object(fields()));
export type AliasPool = z.infer<ReturnType<typeof AliasUpdate>>;

/** The name of the alias in the name of a model. `undefined`: it names none. */
export const aliasName = (model: unknown): string | undefined =>
	typeof model === "string" && model.startsWith(ALIAS) ? model.slice(ALIAS.length) : undefined;
