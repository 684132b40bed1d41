import { type Client, writeFile } from "../client.ts";
import { configuration } from "./opencode.ts";

/** A fork of opencode, with the same configuration in another file. */
export const kilo: Client = {
	path: /\/ai\/v1\/chat\/completions$/,
	configure(context) {
		writeFile(context.folder, "kilo.json", configuration(context));
	},
	command(prompt, { model }, resume) {
		return {
			args: ["run", "--auto", ...(resume ? ["--continue"] : []), "-m", `ganglion/${model}`, prompt],
			env: { KILO_DISABLE_MODELS_FETCH: "1", KILO_DISABLE_AUTOUPDATE: "1" },
		};
	},
	overflow: /maximum context length/,
};
