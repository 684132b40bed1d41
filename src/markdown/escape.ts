/** Text that is to be shown in Markdown as it is. Underscores inside words mean nothing there, and stay. */
const SPECIAL = /[\\`*[\]<|~]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|&(?=#?\w+;)/gu;

export const escapeMarkdown = (text: string): string => text.replace(SPECIAL, "\\$&");
