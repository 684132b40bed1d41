import { useState } from "react";
import { useObjectUrl } from "../parts/object-url.ts";
import type { Box } from "./output-parts.ts";

interface Props {
	image: Blob;
	boxes: readonly Box[];
}

/** The image with a frame around each thing that was found. */
export function Boxes({ image, boxes }: Props) {
	const address = useObjectUrl(image);
	const [size, setSize] = useState({ width: 1, height: 1 });
	const relative = boxes.every(({ right, bottom }) => right <= 1 && bottom <= 1);
	const { width, height } = relative ? { width: 1, height: 1 } : size;
	return (
		<figure className="boxes">
			<img
				src={address}
				alt="The input"
				onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
					setSize({ width: naturalWidth, height: naturalHeight })
				}
			/>
			{boxes.map(({ label, left, top, right, bottom }) => (
				<span
					key={`${label} ${left} ${top}`}
					className="box"
					style={{
						left: `${(left / width) * 100}%`,
						top: `${(top / height) * 100}%`,
						width: `${((right - left) / width) * 100}%`,
						height: `${((bottom - top) / height) * 100}%`,
					}}
				>
					<span>{label}</span>
				</span>
			))}
		</figure>
	);
}
