/** The kind `html`. A deployment without it has the writer of HTML for the documents of other kinds. */
export { convertHtml } from "./html-document.ts";
