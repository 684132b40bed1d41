/** The clients: each file of `libraries/` and `agents/` is one. */
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { type CodingAgent, SCENARIO_NAMES } from "./agent/client.ts";
import { type Library, SCENARIOS } from "./library/client.ts";

const LIBRARIES = join(import.meta.dirname, "libraries");
const AGENTS = join(import.meta.dirname, "agents");
const namesIn = (folder: string): string[] => readdirSync(folder).map((file) => basename(file, ".ts"));

export type Client =
	| { kind: "library"; name: string; file: string; library: Library }
	| { kind: "agent"; name: string; agent: CodingAgent };

export const KINDS = ["library", "agent"] as const;
/** The scenarios of each kind, in the order of the tables. */
export const SCENARIOS_OF: Readonly<Record<Client["kind"], readonly string[]>> = {
	library: SCENARIOS,
	agent: SCENARIO_NAMES,
};

export const allClients = async (): Promise<Client[]> => [
	...(await Promise.all(
		namesIn(LIBRARIES).map(async (name): Promise<Client> => {
			const file = join(LIBRARIES, `${name}.ts`);
			const { client }: { client: Library } = await import(file);
			return { kind: "library", name, file, library: client };
		}),
	)),
	...(await Promise.all(
		namesIn(AGENTS).map(async (name): Promise<Client> => {
			const { agent }: { agent: CodingAgent } = await import(join(AGENTS, `${name}.ts`));
			return { kind: "agent", name, agent };
		}),
	)),
];

export const packagesOf = (client: Client): readonly string[] =>
	client.kind === "library" ? client.library.packages : [client.agent.package];

/** Packages whose install scripts install the program for this platform. */
export const installScriptsOf = (client: Client): readonly string[] =>
	client.kind === "library"
		? (client.library.installScripts ?? [])
		: client.agent.installScript
			? [client.agent.package]
			: [];

/** What its file says of either kind of client. */
export const detailsOf = (
	client: Client,
): {
	title: string;
	models: readonly string[];
	unsupported?: Readonly<Record<string, string | undefined>>;
} => (client.kind === "library" ? client.library : client.agent);
