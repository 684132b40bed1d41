/**
 * Reads a folder with the product's model files, as its documentation has them (github.com/cloudflare/cloudflare-docs):
 * `src/content/workers-ai-models/*.json` and `src/content/catalog-models/*.json`, in any mixture.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FLAG_PROPERTIES } from "../../src/models/search.ts";
import type { ModelFacts } from "./facts.ts";
import { isFields, productPrices } from "./product-prices.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface ProductFiles {
	models: ModelFacts[];
	unreadable: { file: string; reason: string }[];
}

/** Also of the folders below. Files of other types are ignored. Throws if the folder cannot be read. */
export function readProductFiles(folder: string): ProductFiles {
	const byId = new Map<string, ModelFacts>();
	const unreadable: ProductFiles["unreadable"] = [];
	const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
		name.endsWith(".json"),
	);
	for (const file of names.sort()) {
		try {
			const facts = factsOf(parse(readFileSync(join(folder, file), "utf8")));
			byId.set(facts.id, facts);
		} catch (error) {
			unreadable.push({ file, reason: error instanceof Error ? error.message : String(error) });
		}
	}
	return { models: [...byId.values()], unreadable };
}

function parse(text: string): Fields {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		throw new Error("it is not JSON");
	}
	if (!isFields(value)) throw new Error("it is not an object");
	return value;
}

function factsOf(file: Fields): ModelFacts {
	if (typeof file.model_id === "string") return thirdPartyFacts(file, file.model_id);
	if (typeof file.name === "string" && file.name.startsWith("@")) return workersAiFacts(file, file.name);
	throw new Error('it has neither "model_id" nor a "name" that begins with "@"');
}

function thirdPartyFacts(file: Fields, id: string): ModelFacts {
	const { task, context_length, request_formats } = file;
	if (typeof task !== "string") throw new Error('"task" is not a text');
	const prices = productPrices(file);
	return {
		id,
		kind: "third-party",
		task: task.toLowerCase(),
		...numberAs("context_window", context_length),
		...(Array.isArray(request_formats) && { request_formats: request_formats.map(String) }),
		...(prices && { prices }),
	};
}

function workersAiFacts(file: Fields, id: string): ModelFacts {
	const { task, id: uuid, created_at, properties } = file;
	if (!isFields(task) || typeof task.name !== "string") throw new Error('"task.name" is not a text');
	if (!Array.isArray(properties)) throw new Error('"properties" is not a list');
	const values = new Map<unknown, unknown>(
		properties.filter(isFields).map(({ property_id, value }) => [property_id, value]),
	);
	const date = values.get("planned_deprecation_date");
	const prices = unitPrices(values.get("price"), task.name);
	return {
		id,
		kind: "workers-ai",
		task: task.name.toLowerCase(),
		...(typeof uuid === "string" && { uuid }),
		...(typeof created_at === "string" && { created: dateIn(created_at) }),
		...numberAs("context_window", values.get("context_window")),
		...numberAs("max_input_tokens", values.get("max_input_tokens")),
		...numberAs("output_dimensions", values.get("output_dimensions")),
		...(typeof date === "string" && { planned_deprecation_date: dateIn(date) }),
		flags: FLAG_PROPERTIES.filter((flag) => values.get(flag) === "true"),
		...(prices && { prices }),
	};
}

const DATE_CHARACTERS = "2026-11-26".length;
const dateIn = (time: string): string => time.slice(0, DATE_CHARACTERS);

/** The product writes numbers also as text. */
function numberAs<Name extends string>(name: Name, value: unknown): { [Key in Name]?: number } {
	const number = typeof value === "string" ? Number(value) : value;
	if (typeof number !== "number" || !Number.isFinite(number)) return {};
	return { [name]: number } as { [Key in Name]: number };
}

/** The files' words for units of the pricing page. */
const UNIT_NAMES: Readonly<Record<string, string>> = {
	"per 512 by 512 tile": "per 512x512 tile",
	"per 1k characters": "per 1k characters input",
	"per audio minute (websocket)": "per audio minute (WebSocket)",
};

/** The pricing page has a price for a million images where the file has one for each request. */
const IMAGES_TASK = "Image Classification";
const MILLION = 1_000_000;

function unitPrices(price: unknown, task: string): ModelFacts["prices"] {
	if (!Array.isArray(price)) return undefined;
	const rows = price.filter(isFields).flatMap(({ unit, price: usd }): [string, number][] => {
		if (typeof unit !== "string" || typeof usd !== "number") return [];
		if (task === IMAGES_TASK && unit === "per inference request") return [["per M images", usd * MILLION]];
		return [[UNIT_NAMES[unit] ?? unit, usd]];
	});
	return Object.fromEntries(rows);
}
