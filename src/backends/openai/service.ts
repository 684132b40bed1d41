/**
 * OpenAI's own service refuses unknown fields. Engines that copied its routes ignore them, and have additional fields. So
 * the request depends on which of the two the target is.
 */
import type { TaskName } from "../../tasks/task.ts";
import type { Target } from "../backend.ts";
import type { Handler } from "../handler.ts";

/** Configured addresses have the host in lower case and no credentials. */
const SERVICE = /^https?:\/\/(?:[^/]+\.)?(?:api\.openai\.com|openai\.azure\.com)(?::\d+)?(?:\/|$)/;

export const isOpenAiService = ({ url }: Pick<Target, "url">): boolean => SERVICE.test(url);

/** For a server that has OpenAI's routes below `/v1`, beside its own. */
export const onOpenAiRoutes =
	<Name extends TaskName>(handler: Handler<Name>): Handler<Name> =>
	(input, { target, ...call }) =>
		handler(input, { ...call, target: { ...target, url: `${target.url}/v1` } });
