/**
 * Models of others, `author/model`: the ids of the product's catalogue that a task here can answer, and the tasks of those
 * that none can. They are found by their ids; `models/search` and the other lists show those that something here was set
 * up to serve (`config/authors.ts`). Like `catalog.json` the rows are not parsed at the start.
 *
 * Known differences from the product: prices are known of a few models, and writing to a cache and tools
 * that Anthropic runs have none; an image is
 * answered as the catalogue's own image models do, not as an address; a body is read as OpenAI's chat has it, or Anthropic's own.
 */
import type { Model } from "./model.ts";
import rows from "./third-party.json" with { type: "json" };
import unserved from "./third-party-unserved.json" with { type: "json" };

export const THIRD_PARTY_MODELS: readonly Model[] = rows as Model[];

const UNSERVED: ReadonlyMap<string, string> = new Map(Object.entries(unserved));

/** Whose models are known. */
export const THIRD_PARTY_AUTHORS: ReadonlySet<string> = new Set(
	[...THIRD_PARTY_MODELS.map(({ id }) => id), ...UNSERVED.keys()].map((id) => id.slice(0, id.indexOf("/"))),
);

const OPENAI: Pick<Model, "input" | "output"> = { input: "chat-openai", output: "openai-chat-completion" };
const MESSAGES: Pick<Model, "input" | "output"> = { input: "messages", output: "messages" };

/** How a text model is asked on its native routes: as OpenAI's chat has it, but for the author who has a form of its own. */
export const chatShapesOf = (id: string): Pick<Model, "input" | "output"> =>
	id.startsWith("anthropic/") ? MESSAGES : OPENAI;

/** `source` of a model of the product's list of others. */
export const THIRD_PARTY_SOURCE = 3;

/** `author/model`, the model's name with or without further slashes; not `@cf/author/model`, and not `llama3.2`. */
export const isThirdPartyId = (id: string): boolean => /^[^@/\s][^/\s]*\/\S+$/.test(id);

/** The task of a model that exists, but asks for what nothing here can do: video, music, changing an image. */
export const unservedTask = (id: string): string | undefined => UNSERVED.get(id);
