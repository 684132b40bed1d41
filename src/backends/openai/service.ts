/**
 * OpenAI's own service refuses fields that it does not know; the engines that copied its routes ignore them, and have
 * fields of their own. Which of the two a target is decides what it is sent.
 */
import type { Target } from "../backend.ts";

const HOSTS = /(^|\.)(api\.openai\.com|openai\.azure\.com)$/;

export const isOpenAiService = (target: Target): boolean => HOSTS.test(new URL(target.url).hostname);
