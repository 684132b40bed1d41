import { useId } from "react";
import { RecordButton } from "./record-button.tsx";

interface Props {
	label: string;
	accept: string;
	file: File | undefined;
	required?: boolean;
	onFile(file: File | undefined): void;
}

export function FileField({ label, accept, file, required = false, onFile }: Props) {
	const id = useId();
	return (
		<div className="file">
			<label htmlFor={id}>{label}</label>
			{/* Another key empties the control after the file was sent. */}
			<input
				key={file ? "chosen" : "empty"}
				id={id}
				type="file"
				accept={accept}
				required={required && !file}
				onChange={(event) => onFile(event.target.files?.[0])}
			/>
			{file && <span className="subtle">{file.name}</span>}
			{accept.startsWith("audio/") && <RecordButton onFile={onFile} />}
		</div>
	);
}

export const dataUrlOf = (file: Blob): Promise<string> =>
	new Promise((resolve, reject) => {
		const reader = new FileReader();
		reader.onload = () => resolve(String(reader.result));
		reader.onerror = () => reject(reader.error);
		reader.readAsDataURL(file);
	});
