/** Escapes text for Markdown. Underscores inside words have no meaning in Markdown and are not escaped. */
const SPECIAL = /[\\`*[\]<|~]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|&(?=#?\w+;)/gu;

export const escapeMarkdown = (text: string): string => text.replace(SPECIAL, "\\$&");
