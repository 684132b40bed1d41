/** `messages` of an answer that stores names of models: those that a request could not call now. A route or a key may come later. */
import { AiError, toAiError } from "../../core/errors.ts";
import { type FieldNote, fieldNotes } from "../../core/field-notes.ts";
import type { HttpServices } from "../../http/services.ts";
import type { Caller } from "../../pipeline/request.ts";
import { requireKey, resolveModel } from "../../pipeline/resolve-model.ts";
import { findKey } from "../../providers/provider-key.ts";
import { customSlug } from "../providers/custom-providers.ts";
import type { GatewayServices } from "../services.ts";
import { compatModel, servedId, slugOf } from "./provider-names.ts";

/** A model that a setting names. */
interface NamedModel {
	/** Of the field, such as `models[0]`. */
	path: string;
	/** As `compat` has it. */
	name: string;
}

/** Who may call the models, and where. */
interface NamedIn {
	caller: Caller;
	/** The id of the gateway whose setting names them. */
	gateway: string;
}

/** One for each model that a request of the caller could not call. The setting is stored already, so a failure is a note too. */
export const modelNotes = (
	models: readonly NamedModel[],
	named: NamedIn,
	services: GatewayServices & Pick<HttpServices, "log">,
): Promise<FieldNote[]> =>
	problemsOf(models, named, services).then(fieldNotes, (thrown: unknown) => {
		const error = toAiError(thrown);
		services.log(error, "");
		return fieldNotes([
			`stored, but whether its models can be called is not known now: ${error.description}`,
		]);
	});

async function problemsOf(
	models: readonly NamedModel[],
	{ caller, gateway }: NamedIn,
	services: GatewayServices,
): Promise<string[]> {
	if (models.length === 0) return [];
	const { customProviders, keys } = await services.providerAccesses.find(caller.account, gateway);
	const problemOf = async (name: string): Promise<string | undefined> => {
		const slug = customSlug(name.split("/", 1)[0] ?? "");
		if (slug !== undefined)
			return customProviders.some((provider) => provider.slug === slug)
				? undefined
				: `the account has no custom provider ${slug}`;
		try {
			const id = compatModel(name, services);
			if (findKey(keys, slugOf(id), undefined)) return undefined;
			const resolved = await resolveModel(await servedId(id, caller, services), caller, services);
			requireKey(resolved);
			return resolved.routed ? undefined : "nothing serves it here (see ROUTES)";
		} catch (thrown) {
			if (thrown instanceof AiError && thrown.status < 500) return thrown.description;
			throw toAiError(thrown);
		}
	};
	const notes: string[] = [];
	for (const { name, path } of models) {
		const problem = await problemOf(name);
		if (problem !== undefined) notes.push(`${path}: stored, but it cannot be called now: ${problem}`);
	}
	return notes;
}
