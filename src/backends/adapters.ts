/** LoRA adapters that requests name: those of the caller's account, and those that an engine has from its start. */
import { AiError } from "../core/errors.ts";
import type { Model } from "../models/model.ts";
import { isPublicAdapter } from "../models/public-adapters.ts";

/** An adapter of an account. */
export interface AccountAdapter {
	/** The name of the adapter at the engine, and of its folder. */
	id: string;
	/** The account's name of it. */
	name: string;
	/** Id of the base model. */
	model: string;
	isComplete: boolean;
	/** Writes the files into the folder of the backend (`adapters.folder`), unless they are there. */
	writeTo(backend: string): Promise<void>;
}

/** `engine`: a name in `ADAPTER_ENGINES`. */
export interface AdapterSettings {
	engine: "vllm" | "vllm-resolver" | "sglang" | "llama.cpp";
	/** A folder of the machine of the gateway. Absent: the operator puts the files where the engine reads them. */
	folder?: string;
	/** The same folder, as the engine sees it. */
	seenAs: string;
	/** Adapters that one replica has loaded at the same time. */
	maxLoaded: number;
}

/** The adapters of the caller's account, for one request. */
export interface RequestAdapters {
	/** By id or by name. */
	find(name: string): Promise<AccountAdapter | undefined>;
	/** Resolves when the request has ended: its adapter is not in use any more. */
	ended: Promise<unknown>;
}

interface AdapterContext {
	model: Model;
	/** Absent: accounts have no adapters. */
	adapters?: RequestAdapters | undefined;
}

/** `undefined`: it is none of the account. Throws 3039 if it lacks files, and 5005 if it is for another model. */
export async function findAdapter(
	lora: string,
	{ adapters, model }: AdapterContext,
): Promise<AccountAdapter | undefined> {
	const found = await adapters?.find(lora);
	if (!found) return undefined;
	if (found.model !== model.id)
		throw new AiError(
			"loraUnsupported",
			`The fine-tune ${found.name} is for the model ${found.model}, not for ${model.id}`,
		);
	if (!found.isComplete) throw new AiError("adapterIncomplete");
	return found;
}

/** As the product names it: an adapter of the account, or a public one. Throws 5005 for any other. */
export async function productAdapter(lora: string, context: AdapterContext): Promise<string> {
	const found = await findAdapter(lora, context);
	if (!found && context.adapters && !isPublicAdapter(lora)) throw unknownAdapter(context.model);
	return found?.name ?? lora;
}

const unknownAdapter = ({ id }: Model): AiError =>
	new AiError("loraUnsupported", `The account has no such fine-tune for the model ${id}`);
