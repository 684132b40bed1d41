/** The source of weights that the environment names: the public hub, a mirror, or a folder. */
import { resolve } from "node:path";
import { FolderSource } from "./folder-source.ts";
import { HubSource } from "./hub.ts";
import { addressIn, type ConnectionOptions, HubConnection } from "./hub-connection.ts";
import { HUB_SETTING, type Source, unavailable } from "./source.ts";

const DEFAULT_HUB = "https://huggingface.co";

export function sourceOf(
	env: Readonly<Record<string, string | undefined>>,
	options: ConnectionOptions = {},
): Source {
	const set = env[HUB_SETTING] || DEFAULT_HUB;
	if (!/^[a-z]+:\/\//i.test(set)) return new FolderSource(resolve(set));
	const url = addressIn(set);
	if (!url || !/^https?:$/.test(url.protocol))
		throw unavailable(
			`${HUB_SETTING}: expected an address that begins with https://, or a folder, found another text`,
		);
	return new HubSource(new HubConnection(url, env, options));
}
