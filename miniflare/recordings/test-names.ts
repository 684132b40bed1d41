/** Names of files of recordings. */

/** The paths of both systems have the same separator. */
const withSlashes = (path: string): string => path.replaceAll("\\", "/");

/** The path of a file of tests in one of the folders. Outside of them only the name of the file: other machines have other folders. */
export function nameOf(path: string, folders: readonly string[]): string {
	const file = withSlashes(path);
	const folder = folders
		.map((folder) => `${withSlashes(folder).replace(/\/$/, "")}/`)
		.find((folder) => file.startsWith(folder));
	return file.slice(folder === undefined ? file.lastIndexOf("/") + 1 : folder.length);
}
