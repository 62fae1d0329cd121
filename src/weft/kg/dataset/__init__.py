"""Source trees and documents cut into chunks with their facts: the data set on disk."""
