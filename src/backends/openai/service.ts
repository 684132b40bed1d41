/**
 * OpenAI's own service refuses unknown fields. Engines that copied its routes ignore them, and have additional fields. So
 * the request depends on which of the two the target is.
 */
import type { Target } from "../backend.ts";

/** Configured addresses have the host in lower case and no credentials. */
const SERVICE = /^https?:\/\/(?:[^/]+\.)?(?:api\.openai\.com|openai\.azure\.com)(?::\d+)?(?:\/|$)/;

export const isOpenAiService = ({ url }: Pick<Target, "url">): boolean => SERVICE.test(url);
