// What is generated, with Eigen's types.
#include <iostream>

#include "lab/lab.hpp"

#ifndef ENGRAM_PAYLOAD_EIGEN
#error "Eigen is not found"
#endif

int main() {
  Eigen::MatrixXd jacobian(2, 3);  // stored by columns
  jacobian << 1, 2, 3, 4, 5, 6;
  Eigen::Isometry3d grasp = Eigen::Translation3d(1, 2, 3) * Eigen::AngleAxisd(0.5, Eigen::Vector3d::UnitZ());
  lab::Arm arm;
  arm.jacobian = engram::payload::Matrix::of(jacobian);
  arm.gains = engram::payload::Matrix::of(Eigen::Matrix2f::Identity() * 2);
  arm.grasp = engram::payload::Pose::of(grasp);

  lab::Arm read = lab::Arm::from_payload(arm.to_payload());
  if (read != arm) return 1;
  if (read.jacobian->eigen<double>() != jacobian) return 2;
  if (read.gains->eigen<float>() != Eigen::Matrix2f(2 * Eigen::Matrix2f::Identity())) return 3;
  if (!read.grasp->eigen().isApprox(grasp)) return 4;
  if (!engram::payload::Pose().eigen().isApprox(Eigen::Isometry3d::Identity())) return 5;
  Eigen::Vector3d tip = read.grasp->eigen() * Eigen::Vector3d(0.1, 0, 0);
  auto same = (*read.grasp * engram::payload::Pose{engram::payload::Vector3{0.1, 0, 0}, {}}).position->eigen();
  if (!tip.isApprox(same)) return 6;
  try {
    (void)read.gains->eigen<double>();
    return 7;
  } catch (const engram::payload::Error&) {
  }
  std::cout << "well" << std::endl;
}
